"""Where a text file has a line with more columns than its first one; looked for when it could not be read."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import IO

from discreet.catalogue.packed import copy_plain, kind_of
from discreet.catalogue.tables import find_separator

__all__ = ["describe_ragged_line"]


def describe_ragged_line(path: Path, separator: str | None, encoding: str | None) -> str:
    """Say which line of a CSV or TSV file it is, and how many columns it has; nothing where none is found."""
    if not path.is_file() or kind_of(path) not in (".csv", ".tsv"):
        return ""
    with tempfile.TemporaryFile() as plain:
        copy_plain(path, encoding, plain)
        plain.seek(0)
        first = io.BytesIO(plain.readline())
        plain.seek(0)
        apart = separator or ("\t" if kind_of(path) == ".tsv" else find_separator(first))
        try:
            return _find(plain, apart) if len(apart) == 1 else ""
        except (csv.Error, UnicodeDecodeError):
            return ""


def _find(plain: IO[bytes], separator: str) -> str:
    with io.TextIOWrapper(plain, encoding="utf-8", newline="") as text:
        lines = csv.reader(text, delimiter=separator)
        width = len(next(lines, []))
        for line in lines:
            if len(line) > width:
                return f"line {lines.line_num} ({len(line)} columns, not {width})"
    return ""
