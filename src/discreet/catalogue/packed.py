"""Files as they come: compressed, in another encoding than UTF-8, or from standard input; made into plain ones.

What polars unpacks itself (CSV in UTF-8 under ``.gz`` or ``.zst``) stays on the disk. All else is unpacked into memory,
or into a file by `copy_plain` where a table is too large for that.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from discreet.catalogue.names import no_file

__all__ = [
    "PACKED",
    "STANDARD_INPUT",
    "check_encoding",
    "copy_plain",
    "is_plain",
    "kind_of",
    "opened",
    "unpacked_name",
]

STANDARD_INPUT = "-"
"""What stands for it in place of a path."""

_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"PK\x03\x04": ".zip"}
PACKED = (".gz", ".zst", ".bz2", ".zip")
_BY_POLARS = (".gz", ".zst")
_TEXT = (".csv", ".tsv", ".txt", ".dat", ".ndjson", ".jsonl")
_CHUNK = 1 << 20


def unpacked_name(path: str | os.PathLike[str]) -> Path:
    """The name of a file without what says how it is packed; a zip's may be told by the file in it alone."""
    path = Path(path)
    return Path(path.stem) if path.suffix.lower() in PACKED else path


def kind_of(path: str | os.PathLike[str]) -> str:
    """The extension of a file, or of the one that is packed in it: ``.csv`` for ``ratings.csv.gz``."""
    kind = unpacked_name(path).suffix.lower()
    if not kind and Path(path).suffix.lower() == ".zip" and Path(path).is_file():
        with _unpacking(path), zipfile.ZipFile(path) as archive:
            kind = Path(_only_member(archive, path).filename).suffix.lower()
    return kind


def check_encoding(encoding: str) -> None:
    """Refuse what is no encoding of text."""
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}; such as utf-8, latin-1, cp1252 or utf-16"
        ) from None


def is_plain(path: str | os.PathLike[str], encoding: str | None) -> bool:
    """Whether a file can be read where it lies."""
    if os.fspath(path) == STANDARD_INPUT or not _is_utf_8(encoding):
        return False
    packing = Path(path).suffix.lower()
    return packing not in PACKED or (packing in _BY_POLARS and kind_of(path) in (".csv", ".tsv"))


def opened(path: Path, kind: str | None, encoding: str | None) -> tuple[str, Path | io.BytesIO]:
    """The kind of a table, and where it can be read: the file itself, or its content, unpacked and in UTF-8."""
    if str(path) == STANDARD_INPUT:
        content = sys.stdin.buffer.read()
        packing = next((name for magic, name in _MAGIC.items() if content.startswith(magic)), None)
        if packing is not None:
            with _unpacking("standard input"), _stream(io.BytesIO(content), packing, path) as file:
                content = file.read()
        return kind or _sniffed(content), io.BytesIO(_in_utf_8(content, encoding))
    if not path.is_file():
        raise FileNotFoundError(no_file(path))
    kind = kind or kind_of(path)
    if is_plain(path, encoding) or (kind not in _TEXT and path.suffix.lower() not in PACKED):
        return kind, path
    with _unpacking(path), path.open("rb") as packed, _stream(packed, path.suffix.lower(), path) as file:
        content = file.read()
    return kind, io.BytesIO(_in_utf_8(content, encoding) if kind in _TEXT else content)


def copy_plain(path: Path, encoding: str | None, target: IO[bytes]) -> None:
    """Write a file unpacked and in UTF-8, a part at a time."""
    with _unpacking(path), path.open("rb") as packed, _stream(packed, path.suffix.lower(), path) as file:
        if _is_utf_8(encoding) or kind_of(path) not in _TEXT:
            shutil.copyfileobj(file, target, _CHUNK)
            return
        assert encoding is not None
        decoder = codecs.getincrementaldecoder(encoding)()
        first = True
        while chunk := file.read(_CHUNK):
            text = _decoded(decoder, chunk, encoding)
            target.write((text.removeprefix("\ufeff") if first else text).encode())
            first = False
        target.write(_decoded(decoder, b"", encoding, final=True).encode())


def _decoded(decoder: codecs.IncrementalDecoder, chunk: bytes, encoding: str, *, final: bool = False) -> str:
    try:
        return decoder.decode(chunk, final)
    except UnicodeError:
        raise _not_in(encoding) from None


def _in_utf_8(content: bytes, encoding: str | None) -> bytes:
    if _is_utf_8(encoding):
        return content
    assert encoding is not None
    try:
        return content.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError:
        raise _not_in(encoding) from None


def _not_in(encoding: str) -> ValueError:
    return ValueError(f"its text is not written in {encoding}; name another encoding, such as cp1252")


def _is_utf_8(encoding: str | None) -> bool:
    if encoding is None:
        return True
    check_encoding(encoding)
    return codecs.lookup(encoding).name == "utf-8"


def _sniffed(content: bytes) -> str:
    if content.startswith(b"PAR1"):
        return ".parquet"
    return ".ndjson" if content.lstrip().startswith(b"{") else ".csv"


@contextmanager
def _stream(packed: IO[bytes], packing: str, path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The content of a packed file; of any other the file itself."""
    if packing == ".gz":
        with gzip.open(packed) as unzipped:
            yield unzipped  # type: ignore[misc]
    elif packing == ".bz2":
        with bz2.open(packed) as unpacked:
            yield unpacked
    elif packing == ".zip":
        with zipfile.ZipFile(packed) as archive, archive.open(_only_member(archive, path)) as member:
            yield member
    elif packing == ".zst":
        with _zstandard(packed) as unpacked:
            yield unpacked
    else:
        yield packed


@contextmanager
def _zstandard(packed: IO[bytes]) -> Iterator[IO[bytes]]:
    try:
        with importlib.import_module("compression.zstd").open(packed) as file:  # Python 3.14 has it
            yield file
    except ImportError:
        try:
            arrow = importlib.import_module("pyarrow")
        except ImportError:
            raise ValueError(
                "unpacking zstd needs pyarrow here: pip install 'discreet[frames]', or unpack the file first"
            ) from None
        with arrow.CompressedInputStream(packed, "zstd") as file:
            yield file


def _only_member(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> zipfile.ZipInfo:
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise ValueError(f"{path} has {len(members)} files in it; give a zip of one file, or unpack it first")
    return members[0]


@contextmanager
def _unpacking(path: object) -> Iterator[None]:
    """Say in words what is wrong with a packed file."""
    try:
        yield
    except (EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be unpacked: {str(error) or 'it ends too early'}") from error
