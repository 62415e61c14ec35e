"""Questions and answers as files, for sites without a network: the bytes are those that would have been sent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from discreet.errors import Refused
from discreet.model.directory import replace_file
from discreet.silos.shared.agreements import AnyAgreement, largest_message
from discreet.silos.shared.seal import MARK
from discreet.silos.transport.signed_run import SignedRun

__all__ = ["check_message_place", "read_message", "take_answer", "write_message"]

_MARKS = (
    MARK,
    b"dsQ1",
    b"dsA1",
    b"dsP1",
)  # of signed messages; of older ones: questions, answers, prototypes
_BESIDE_A_STORE = ("", "-journal", "-wal", "-shm")  # what SQLite has under a store's name


def check_message_place(path: Path, *, store: Path, question: Path | None = None) -> None:
    """Refuse a place where a message would destroy something; worth asking before an answer is charged.

    Parameters
    ----------
    path
        Where the message is to go.
    store, question
        Files that the same command works on; the store may not be there yet.
    """
    kept = [f"{store}{ending}" for ending in _BESIDE_A_STORE]
    kept += [] if question is None else [str(question)]
    if os.path.realpath(path) in map(os.path.realpath, kept):
        raise Refused(f"{path} is the place of another file of this command; choose another name")
    _check_replaceable(path)


def write_message(path: Path, message: bytes) -> None:
    """Put a message into a file, whole or not at all; only another message is ever replaced."""
    _check_replaceable(path)
    replace_file(path, lambda file: file.write(message), private=True)


def _check_replaceable(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise Refused(f"{path.absolute().parent} is not a directory; create it first")
    if path.exists() and not _is_message(path):
        raise Refused(f"{path} exists and is not a message of this program; choose another name")


def _is_message(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in _MARKS


def read_message(path: Path, agreement: AnyAgreement) -> bytes:
    """A message from a file, if it is not larger than any message of the run."""
    most = largest_message(agreement)
    try:
        with path.open("rb") as file:
            message = file.read(most + 1)
    except FileNotFoundError:
        raise Refused(f"there is no file {path}") from None
    if len(message) > most:
        raise Refused(f"{path} is larger than any message of this run")
    return message


def take_answer(run: SignedRun, message: bytes, source: str) -> dict[str, Any]:
    """Hand an answer to the coordinator of a run, as from the silo that has signed it, whoever carried it."""
    try:
        return run.receive(None, message)
    except Refused as error:
        raise Refused(f"{source}: {error}") from None
