"""Tables in files: which kind a file is, how its text is written, and the table itself, not read yet.

Text files differ in how columns are set apart. The first line tells: a comma, a semicolon, a tab, a bar or a double
colon, whichever it has most of outside quotes. Files of MovieLens (``.dat``) have double colons, no header, and known
names of columns. What is packed, in another encoding or on standard input is made plain first
(:mod:`discreet.catalogue.packed`).
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from discreet.catalogue.packed import opened

__all__ = ["TABLE_ERRORS", "Scan", "find_separator", "scan_table"]

TABLE_ERRORS = (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading a damaged table may end in; polars panics over some Parquet files, and a panic is no Exception."""

_SEPARATED = (".csv", ".tsv")
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
    *,
    private: Collection[str] | None = None,
) -> Scan:
    """Open a table; reading it may end in one of `TABLE_ERRORS`.

    The kind is an extension (``".csv"``), by default the file's own, under ``.gz`` or ``.zst`` if need be; ``"-"`` is
    standard input. Untyped tables (CSV, TSV, text) come as text in every column, so that ids are taken as written.

    Parameters
    ----------
    separator, encoding
        Of text: found in the first line, and UTF-8, where they are left out.
    private
        For rows that belong to people, the columns that will be read (none named: all). Then nothing about a row is
        judged by other rows: NDJSON comes as text too, and no encoding is guessed. Of public tables (a catalogue)
        types, and the encoding of ``.dat``, are worked out from the whole.
    """
    path = Path(path)
    kind, source = opened(path, kind, encoding)
    if kind in _SEPARATED:
        table = _scan_text(source, separator or (find_separator(source) if kind == ".csv" else "\t"))
    elif separator is not None:
        raise ValueError(f"a separator is for .csv and .tsv, not for {kind or path.name}; leave it out")
    elif kind == ".dat":
        table = _scan_movielens(path, source, guess=private is None)
    elif kind == ".txt":
        content = source.getvalue() if isinstance(source, io.BytesIO) else source.read_bytes()
        lines = [line.strip() or None for line in content.decode("utf-8").split("\n")]
        table = pl.LazyFrame({"item": lines}, schema={"item": pl.String})
    elif kind in (".parquet", ".pq"):
        table = pl.scan_parquet(source, hive_partitioning=not isinstance(source, io.BytesIO))
    elif kind in (".ndjson", ".jsonl"):
        if private is not None:
            return _scan_json(source, private)
        table = pl.scan_ndjson(source, infer_schema_length=None)
    else:
        advice = _ADVICE.get(kind, "use .csv, .tsv, .parquet, .ndjson, .dat (MovieLens) or .txt")
        raise ValueError(f"the extension of {path.name} is unknown; {advice}")
    typed = kind not in (".csv", ".tsv", ".txt", ".dat")
    return Scan(table.collect_schema().names(), typed, table, typeset=not typed)


def _scan_json(source: Path | io.BytesIO, private: Collection[str]) -> Scan:
    """People's rows in NDJSON, every value of the named columns as text, by itself.

    A type that suited all rows would be chosen by all of them: one ``7.0`` among whole numbers makes all of them
    floats, which do not hold every id. Which columns there are is read off the first row, or any row that has one.
    """
    if not private:
        private = pl.scan_ndjson(source, infer_schema_length=None).collect_schema().names()
    table = pl.scan_ndjson(source, schema=dict.fromkeys(private, pl.String))
    names = pl.scan_ndjson(source, n_rows=1, infer_schema_length=1).collect_schema().names()
    later = [name for name in private if name not in names]
    if later:
        there = table.select(pl.col(later).is_not_null().any()).collect().row(0)
        names = [*names, *(name for name, found in zip(later, there, strict=True) if found)]
    return Scan(names, False, table)


def find_separator(source: str | os.PathLike[str] | io.BytesIO) -> str:
    """What sets the columns of a text file apart, by its first line; a comma where there is only one column."""
    line = _QUOTED.sub("", _first_line(_whole_lines(source)))
    return max(_SEPARATORS, key=line.count)


def _scan_text(source: Path | io.BytesIO, separator: str) -> pl.LazyFrame:
    if len(separator) == 1:
        return pl.scan_csv(source, separator=separator, infer_schema=False)
    lines = _whole_lines(source)
    return _split(lines.slice(1), separator, _first_line(lines).split(separator))


def _scan_movielens(path: Path, source: Path | io.BytesIO, *, guess: bool) -> pl.LazyFrame:
    if guess:
        content = source.getvalue() if isinstance(source, io.BytesIO) else source.read_bytes()
        try:
            content.decode()
        except UnicodeDecodeError:  # titles of films, from before UTF-8 was usual
            content = content.decode("latin-1").encode()
        source = io.BytesIO(content)
    lines = _whole_lines(source)
    number = len(_first_line(lines).split("::"))
    if number not in _MOVIELENS:
        raise ValueError(
            f"{path.name} has {number} columns with '::' between them; MovieLens has user::item::rating::time or "
            "item::title::genres"
        )
    return _split(lines, "::", _MOVIELENS[number])


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
