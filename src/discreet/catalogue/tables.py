"""Tables in files: which kind a file is, how its text is written, and the table itself, not read yet.

Text files differ in how columns are set apart. The first line tells: a comma, a semicolon, a tab, a bar or a double
colon, whichever it has most of outside quotes. Files of MovieLens (``.dat``) have double colons, no header, and known
names of columns. What polars unpacks itself (CSV in UTF-8 under ``.gz`` or ``.zst``) stays on the disk; what else is
packed, in another encoding or on standard input is made plain in memory first.

**Privacy.** Nothing about a row is judged by other rows: text and NDJSON come as text in every column, and no encoding
is guessed.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from discreet.catalogue.columns import no_file

__all__ = [
    "PACKED",
    "STANDARD_INPUT",
    "TABLE_ERRORS",
    "Scan",
    "find_separator",
    "is_plain",
    "kind_of",
    "opened",
    "scan_table",
]

STANDARD_INPUT = "-"
"""What stands for it in place of a path."""

TABLE_ERRORS = (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading a damaged table may end in; polars panics over some Parquet files, and a panic is no Exception."""

PACKED = (".gz", ".zst")
_SEPARATED = (".csv", ".tsv")
_LINES = (".ndjson", ".jsonl")
_TEXT = (*_SEPARATED, *_LINES, ".txt", ".dat")
_SEPARATORS = (",", ";", "\t", "|", "::")
_QUOTED = re.compile(r'"[^"]*"')
_NOWHERE = "\x01"  # a separator that no text has: lines are read whole
_SHEET = "save the sheet as CSV in UTF-8 first"
_ADVICE = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), _SHEET),
    ".json": "write one object a line and call it .ndjson",
    **dict.fromkeys((".bz2", ".zip", ".xz", ".7z"), "unpack it first (.gz can stay)"),
}
_MOVIELENS = {4: ("user", "item", "rating", "time"), 3: ("item", "title", "genres")}

Source = Path | io.BytesIO


class Scan(NamedTuple):
    """A table that is not read yet: its columns, whether they have types, and whether its fields may have quotes."""

    names: list[str]
    typed: bool
    table: pl.LazyFrame
    typeset: bool = False


def scan_table(
    path: str | os.PathLike[str],
    kind: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    columns: Collection[str] = (),
) -> Scan:
    """Open a table; reading it may end in one of `TABLE_ERRORS`.

    Parameters
    ----------
    kind
        An extension (``".csv"``), by default the file's own, under ``.gz`` or ``.zst`` if need be; ``"-"`` is standard
        input.
    separator, encoding
        Of text: found in the first line, and UTF-8, where they are left out.
    columns
        Those that will be read; none named: all.
    """
    path = Path(path)
    kind, source = opened(path, kind, encoding)
    typed = kind in (".parquet", ".pq")
    if kind in _SEPARATED:
        separator = separator or (find_separator(source) if kind == ".csv" else "\t")
        if len(separator) == 1:
            table = pl.scan_csv(source, separator=separator, infer_schema=False)
        else:
            lines = _whole_lines(source)
            table = _split(lines.slice(1), separator, _first_line(lines).split(separator))
    elif separator is not None:
        raise ValueError(f"a separator is for .csv and .tsv, not for {kind or path.name}; leave it out")
    elif kind == ".dat":
        lines = _whole_lines(source)
        number = len(_first_line(lines).split("::"))
        if number not in _MOVIELENS:
            raise ValueError(
                f"{path.name} has {number} columns with '::' between them; MovieLens has user::item::rating::time or "
                "item::title::genres"
            )
        table = _split(lines, "::", _MOVIELENS[number])
    elif typed:
        table = pl.scan_parquet(source, hive_partitioning=not isinstance(source, io.BytesIO))
    elif kind in _LINES:
        return _scan_json(source, columns)
    else:
        advice = _ADVICE.get(kind, "use .csv, .tsv, .parquet, .ndjson or .dat (MovieLens)")
        raise ValueError(f"the extension of {path.name} is unknown; {advice}")
    return Scan(table.collect_schema().names(), typed, table, typeset=not typed)


def _scan_json(source: Source, columns: Collection[str]) -> Scan:
    """NDJSON, every value of the named columns as text, by itself.

    A type that suited all rows would be chosen by all of them: one ``7.0`` among whole numbers makes all of them
    floats, which do not hold every id. Which columns there are is read off the first row, or any row that has one.
    """
    if not columns:
        columns = pl.scan_ndjson(source, infer_schema_length=None).collect_schema().names()
    table = pl.scan_ndjson(source, schema=dict.fromkeys(columns, pl.String))
    names = pl.scan_ndjson(source, n_rows=1, infer_schema_length=1).collect_schema().names()
    later = [name for name in columns if name not in names]
    if later:
        there = table.select(pl.col(later).is_not_null().any()).collect().row(0)
        names = [*names, *(name for name, found in zip(later, there, strict=True) if found)]
    return Scan(names, False, table)


def find_separator(source: str | os.PathLike[str] | io.BytesIO) -> str:
    """What sets the columns of a text file apart, by its first line; a comma where there is only one column."""
    line = _QUOTED.sub("", _first_line(_whole_lines(source)))
    return max(_SEPARATORS, key=line.count)


def _whole_lines(source: str | os.PathLike[str] | io.BytesIO) -> pl.LazyFrame:
    return pl.scan_csv(
        source if isinstance(source, io.BytesIO) else Path(source),
        separator=_NOWHERE,
        has_header=False,
        new_columns=["line"],
        quote_char=None,
        infer_schema=False,
        truncate_ragged_lines=True,
    )


def _first_line(lines: pl.LazyFrame) -> str:
    first = lines.head(1).collect()
    return "" if first.is_empty() or first.item() is None else str(first.item())


def _split(lines: pl.LazyFrame, separator: str, names: Sequence[str]) -> pl.LazyFrame:
    parts = pl.col("line").str.split_exact(separator, len(names) - 1).struct.rename_fields(list(names))
    return lines.select(parts.alias("parts")).unnest("parts")


def kind_of(path: str | os.PathLike[str]) -> str:
    """The extension of a file, or of the one that is packed in it: ``.csv`` for ``ratings.csv.gz``."""
    path = Path(path)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def is_plain(path: str | os.PathLike[str], encoding: str | None) -> bool:
    """Whether a file can be read where it lies."""
    if os.fspath(path) == STANDARD_INPUT or not _is_utf_8(encoding):
        return False
    return Path(path).suffix.lower() not in PACKED or kind_of(path) in _SEPARATED


def opened(path: Path, kind: str | None = None, encoding: str | None = None) -> tuple[str, Source]:
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
