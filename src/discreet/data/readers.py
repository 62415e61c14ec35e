"""Files of ratings, each read into a table of the named columns."""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from discreet.catalogue import TABLE_ERRORS, infer_ids, scan_table
from discreet.catalogue.columns import PLAIN_TEXT, Columns, TextFormat, check_columns
from discreet.catalogue.tables import STANDARD_INPUT, Scan, find_separator, kind_of
from discreet.errors import RatingsInvalid

__all__ = [
    "check_lines",
    "count_filled",
    "list_files",
    "read_file",
    "readable",
    "scan_files",
    "without_types",
]

_PATTERN = re.compile(r"[*?\[]")
_QUOTE = ": put quotes around text that has a separator in it, or name the separator (--separator)"
# What polars says, and what a person can do about it.
_HINTS = {
    "utf-8 sequence": "; text that is not UTF-8 needs its encoding (--encoding), such as latin-1, cp1252, or utf-16 "
    "for Excel's Unicode text",
    "more columns than": _QUOTE,
    "more fields than": _QUOTE,
    "could not parse": "; a quotation mark is opened and not closed there",
}


def read_file(
    path: str | os.PathLike[str], columns: Columns, kind: str | None = None, text: TextFormat = PLAIN_TEXT
) -> pl.DataFrame:
    """Read CSV, TSV, Parquet or NDJSON, by the extension or the kind given (``".csv"``).

    A folder or a pattern (``ratings/*.parquet``) stands for all its files, one after another by their names; ``"-"``
    for standard input.
    """
    scan = scan_files(path, columns, kind, text)
    with readable(path):
        try:
            frame = scan.table.collect()
        except pl.exceptions.ComputeError as error:
            if "more fields than" not in str(error):
                raise
            raise ValueError(
                f"{_wider_line(Path(path), text)} has more columns than the first one"
            ) from error
    if scan.typeset:
        check_lines(frame, columns)
    return frame if scan.typed else without_types(frame, columns)


def scan_files(
    path: str | os.PathLike[str], columns: Columns, kind: str | None = None, text: TextFormat = PLAIN_TEXT
) -> Scan:
    """The table of the named columns, not read yet."""
    if text.separator == "":
        raise RatingsInvalid("the separator is empty; leave it out to have it found in the first line")
    with readable(path):
        files = list_files(path)
        if all(file.is_file() and not file.stat().st_size for file in files):
            raise RatingsInvalid(f"{path} is empty; give a file with a header and at least one row")
        named = columns.names()
        scans = [scan_table(file, kind or kind_of(file), *text, columns=named) for file in files]
        for scan in scans:
            check_columns(scan.names, columns)
        table = pl.concat([scan.table.select(named) for scan in scans])
        return scans[0]._replace(table=table)


def list_files(path: str | os.PathLike[str]) -> list[Path]:
    """The file itself, the files in a folder and below it, or those that a pattern matches; by their names."""
    place = Path(path)
    if os.fspath(path) == STANDARD_INPUT:
        return [place]
    if place.is_dir():
        found = [file for file in place.rglob("*") if file.is_file() and file.name[0] not in "._"]
    elif _PATTERN.search(str(path)) and not os.path.exists(path):
        found = [Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file()]
    else:
        return [place]
    if not found:
        raise RatingsInvalid(f"{path} has no files in it; name a file, a folder or a pattern with some")
    kinds = sorted({kind_of(file) for file in found})
    if len(kinds) > 1:
        raise RatingsInvalid(
            f"{path} has files of several kinds ({', '.join(kinds)}); give a pattern such as *{kinds[0]}"
        )
    return sorted(found)


@contextmanager
def readable(path: object) -> Iterator[None]:
    """Say in words why a table cannot be read."""
    try:
        yield
    except TABLE_ERRORS as error:
        source = "standard input" if path == STANDARD_INPUT else path
        hint = next((hint for words, hint in _HINTS.items() if words in str(error)), "")
        raise RatingsInvalid(f"{source} cannot be read: {_reason(error)}{hint}") from error


def _wider_line(path: Path, text: TextFormat) -> str:
    """Which line of a plain CSV or TSV file has more columns than the first; looked for when it could not be read."""
    if path.is_file() and path.suffix in (".csv", ".tsv"):
        separator = text.separator or ("\t" if path.suffix == ".tsv" else find_separator(path))
        with path.open(encoding=text.encoding or "utf-8", newline="") as file:
            lines = csv.reader(file, delimiter=separator[0])
            width = len(next(lines, []))
            for line in lines:
                if len(line) > width:
                    return f"line {lines.line_num} ({len(line)} columns, not {width})"
    return "a line"


def check_lines(frame: pl.DataFrame, columns: Columns, before: int = 0) -> None:
    """Refuse a text file in which a quote was opened in one row and closed in another: the rows between are gone."""
    broken = frame.select(
        pl.any_horizontal(pl.col(columns.names()).str.contains("\n", literal=True).fill_null(False))
    )
    rows = broken.to_series().arg_true()
    if len(rows):
        raise RatingsInvalid(
            f"row {before + int(rows[0]) + 1}: a field goes over several lines: a quote is opened there and closed in "
            "a later line, which hides the rows between; write quotes inside fields twice, or give Parquet"
        )


def without_types(frame: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Finish a table that came as text: no blank rows at the end, and integer ids where all of them are."""
    frame = frame.head(count_filled(frame))
    return frame.with_columns(infer_ids(frame[columns.user]), infer_ids(frame[columns.item]))


def count_filled(frame: pl.DataFrame) -> int:
    """How many rows there are up to the last one that is not blank."""
    filled = frame.select(~pl.all_horizontal(pl.all().is_null())).to_series().arg_true()
    return int(filled[-1]) + 1 if len(filled) else 0


def _reason(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
