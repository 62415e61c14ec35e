"""Files as they come: compressed, in another encoding than UTF-8, or from standard input.

What polars unpacks itself (CSV in UTF-8 under ``.gz`` or ``.zst``) stays on the disk. All else is unpacked into memory.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import zlib
from pathlib import Path

from discreet.catalogue.names import no_file

__all__ = ["PACKED", "STANDARD_INPUT", "is_plain", "kind_of", "opened"]

STANDARD_INPUT = "-"
"""What stands for it in place of a path."""

PACKED = (".gz", ".zst")
_TEXT = (".csv", ".tsv", ".txt", ".dat", ".ndjson", ".jsonl")


def kind_of(path: str | os.PathLike[str]) -> str:
    """The extension of a file, or of the one that is packed in it: ``.csv`` for ``ratings.csv.gz``."""
    path = Path(path)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def is_plain(path: str | os.PathLike[str], encoding: str | None) -> bool:
    """Whether a file can be read where it lies."""
    if os.fspath(path) == STANDARD_INPUT or not _is_utf_8(encoding):
        return False
    return Path(path).suffix.lower() not in PACKED or kind_of(path) in (".csv", ".tsv")


def opened(path: Path, kind: str | None, encoding: str | None) -> tuple[str, Path | io.BytesIO]:
    """The kind of a table, and where it can be read: the file itself, or its content, unpacked and in UTF-8."""
    if str(path) == STANDARD_INPUT:
        content = sys.stdin.buffer.read()
        return kind or _sniffed(content), io.BytesIO(_in_utf_8(content, encoding))
    if not path.is_file():
        raise FileNotFoundError(no_file(path))
    kind, packing = kind or kind_of(path), path.suffix.lower()
    if is_plain(path, encoding) or (kind not in _TEXT and packing not in PACKED):
        return kind, path
    if packing == ".zst":
        raise ValueError(f"under .zst only CSV in UTF-8 is read; unpack {path.name} first")
    content = path.read_bytes()
    if packing == ".gz":
        try:
            content = gzip.decompress(content)
        except (EOFError, zlib.error) as error:
            raise ValueError(f"{path} cannot be unpacked: {error}") from error
    return kind, io.BytesIO(_in_utf_8(content, encoding) if kind in _TEXT else content)


def _in_utf_8(content: bytes, encoding: str | None) -> bytes:
    if encoding is None or _is_utf_8(encoding):
        return content
    try:
        return content.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError:
        raise ValueError(
            f"its text is not written in {encoding}; name another encoding, such as cp1252"
        ) from None


def _is_utf_8(encoding: str | None) -> bool:
    """Refuses what is no encoding of text."""
    if encoding is None:
        return True
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}; such as utf-8, latin-1, cp1252 or utf-16"
        ) from None
    return codecs.lookup(encoding).name == "utf-8"


def _sniffed(content: bytes) -> str:
    if content.startswith(b"PAR1"):
        return ".parquet"
    return ".ndjson" if content.lstrip().startswith(b"{") else ".csv"
