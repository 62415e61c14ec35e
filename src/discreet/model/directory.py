"""Put a directory of files in its place whole or not at all, and an output file likewise."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO

from discreet.private_files import open_private

__all__ = ["remove_partial", "replace_directory", "replace_file"]


def replace_directory(target: Path, files: Mapping[str, bytes], *, private: bool) -> None:
    """Write ``files`` to a sibling of ``target``, make them durable, and rename the sibling to ``target``.

    An existing ``target`` is moved aside first and removed last; if anything goes wrong between (a full
    disk, a signal), it is moved back. No other name is left beside ``target`` unless the process is killed
    outright. Only its owner may open a ``private`` one.
    """
    fresh, aside = _sibling(target, "partial"), _sibling(target, "replaced")
    try:
        fresh.mkdir(mode=0o700 if private else 0o777)
        for name, content in files.items():
            _write_durably(fresh / name, partial(_put, content), private)
        _flush_directory(fresh)
        if target.exists():
            os.rename(target, aside)
        os.rename(fresh, target)
    finally:
        if not target.exists() and aside.exists():
            os.rename(aside, target)
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(aside, ignore_errors=True)
    _flush_directory(target.parent)


def replace_file(target: Path, write: Callable[[BinaryIO], object], *, private: bool) -> None:
    """Let ``write`` fill a sibling of ``target``, make it durable, and rename it to ``target``.

    Only its owner may read a ``private`` one, from the first byte on and whatever folder it is in.
    """
    fresh = _sibling(target, "partial")
    try:
        _write_durably(fresh, write, private)
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)
    _flush_directory(target.parent)


def remove_partial(folder: Path) -> None:
    """Remove what a process left in a folder that was killed while it wrote; nobody else may write there now."""
    for path in folder.glob(".*.partial-*"):
        path.unlink(missing_ok=True)


def _sibling(target: Path, purpose: str) -> Path:
    return target.with_name(f".{target.name}.{purpose}-{secrets.token_hex(8)}")


def _write_durably(path: Path, write: Callable[[BinaryIO], object], private: bool) -> None:
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(open_private(path, how), "wb") if private else path.open("xb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def _put(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def _flush_directory(path: Path) -> None:
    if sys.platform == "win32":  # pragma: no cover, directories cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
