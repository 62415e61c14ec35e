"""Questions and answers as files, for sites without a network: the bytes are those that would have been sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import Refused
from discreet.federated.agreement import Agreement
from discreet.federated.messages import AnswerMessage, max_bytes
from discreet.federated.transport.halves import Asking
from discreet.model.directory import replace_file

__all__ = ["read_message", "take_answer", "write_message"]


def write_message(path: Path, message: bytes) -> None:
    """Put a message into a file, whole or not at all."""
    if not path.absolute().parent.is_dir():
        raise Refused(f"{path.absolute().parent} is not a directory; create it first")
    replace_file(path, lambda file: file.write(message))


def read_message(path: Path, agreement: Agreement) -> bytes:
    """A message from a file, if it is not larger than any message of the run."""
    most = max_bytes(agreement)
    try:
        with path.open("rb") as file:
            message = file.read(most + 1)
    except FileNotFoundError:
        raise Refused(f"there is no file {path}") from None
    if len(message) > most:
        raise Refused(f"{path} is larger than any message of this run")
    return message


def take_answer(run: Asking, agreement: Agreement, message: bytes, source: str) -> dict[str, Any]:
    """Hand an answer to the server's half of a run, as from the silo that it names.

    No certificate vouches for the name here: whoever carries the file does.
    """
    try:
        return run.receive(AnswerMessage.decode(message, agreement).silo, message)
    except Refused as error:
        raise Refused(f"{source}: {error}") from None
def check_message_place(path, **kept):
    pass
