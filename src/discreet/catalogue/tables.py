"""Tables in files: which kind a file is, how its text is written, and the table itself, not read yet.

Text files differ in how columns are set apart. The first line tells: a comma, a semicolon, a tab, a bar or a double
colon, whichever it has most of outside quotes. Files of MovieLens (``.dat``) have double colons, no header, and known
names of columns.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import polars as pl

__all__ = ["TABLE_ERRORS", "find_separator", "scan_table"]

TABLE_ERRORS = (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What reading a damaged table may end in; polars panics over some Parquet files, and a panic is no Exception."""

_SEPARATORS = (",", ";", "\t", "|", "::")
_QUOTED = re.compile(r'"[^"]*"')
_NOWHERE = "\x01"  # a separator that no text has: lines are read whole
_MOVIELENS = {4: ("user", "item", "rating", "time"), 3: ("item", "title", "genres")}


def scan_table(
    path: str | os.PathLike[str], kind: str | None = None, separator: str | None = None
) -> tuple[list[str], bool, pl.LazyFrame]:
    """Open a table: column names, whether its columns have types, and the table itself.

    The kind is an extension (``".csv"``), by default the file's own, under ``.gz`` or ``.zst`` if need be. The
    separator of a text file is found in its first line unless it is given.

    Untyped tables (CSV, TSV, text) come as text in every column, so that ids are taken exactly as written.

    Raises
    ------
    OSError, ValueError, polars.exceptions.PolarsError
        When the file is missing, of an unknown kind, or damaged; reading the table then ends in one of `TABLE_ERRORS`.
    """
    path = Path(path)
    kind = kind or Path(path.stem if path.suffix in (".gz", ".zst") else path).suffix.lower()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if kind == ".csv":
        table = _scan_text(path, separator or find_separator(path))
    elif kind == ".tsv":
        table = _scan_text(path, "\t")
    elif kind == ".dat":
        table = _scan_movielens(path)
    elif kind == ".txt":
        lines = [line.strip() or None for line in path.read_text(encoding="utf-8").split("\n")]
        table = pl.LazyFrame({"item": lines}, schema={"item": pl.String})
    elif kind in (".parquet", ".pq"):
        table = pl.scan_parquet(path)
    elif kind in (".ndjson", ".jsonl"):
        table = pl.scan_ndjson(path, infer_schema_length=None)
    else:
        raise ValueError(
            f"the extension of {path.name} is unknown; use .csv, .tsv, .parquet, .ndjson, .dat (MovieLens) or .txt"
        )
    return table.collect_schema().names(), kind not in (".csv", ".tsv", ".txt", ".dat"), table


def find_separator(path: str | os.PathLike[str]) -> str:
    """What sets the columns of a text file apart, by its first line; a comma where there is only one column."""
    line = _QUOTED.sub("", _first_line(_whole_lines(path)))
    found = {separator: line.count(separator) for separator in _SEPARATORS}
    return max(_SEPARATORS, key=lambda separator: found[separator])


def _scan_text(path: Path, separator: str) -> pl.LazyFrame:
    if len(separator) == 1:
        return pl.scan_csv(path, separator=separator, infer_schema=False)
    lines = _whole_lines(path)
    names = _first_line(lines).split(separator)
    return _split(lines.slice(1), separator, names)


def _scan_movielens(path: Path) -> pl.LazyFrame:
    content = path.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError:  # titles of films, from before UTF-8 was usual
        content = content.decode("latin-1").encode()
    lines = _whole_lines(io.BytesIO(content))
    number = len(_first_line(lines).split("::"))
    if number not in _MOVIELENS:
        raise ValueError(
            f"{path.name} has {number} columns with '::' between them; MovieLens has user::item::rating::time or "
            "item::title::genres"
        )
    return _split(lines, "::", _MOVIELENS[number])


def _whole_lines(source: str | os.PathLike[str] | io.BytesIO) -> pl.LazyFrame:
    where = source if isinstance(source, io.BytesIO) else Path(source)
    return pl.scan_csv(
        where,
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


def _split(lines: pl.LazyFrame, separator: str, names: tuple[str, ...] | list[str]) -> pl.LazyFrame:
    parts = pl.col("line").str.split_exact(separator, len(names) - 1).struct.rename_fields(list(names))
    return lines.select(parts.alias("parts")).unnest("parts")
