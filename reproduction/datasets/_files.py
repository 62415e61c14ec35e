"""Finding and reading the files of a published data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from discreet.catalogue import Catalogue
from discreet.data.readers import without_types
from discreet.data.rows import Columns
from discreet.errors import CatalogueMissing, RatingsInvalid

__all__ = ["PUBLISHED", "StrPath", "beside", "find", "lines", "number_range", "separated"]

PUBLISHED: dict[str, Any] = {"missing": "error", "out_of_range": "error", "unknown_items": "error"}
"""How rows of published files are read: one that does not fit means that it is another file."""

StrPath: TypeAlias = str | os.PathLike[str]

_COLUMNS = ("user", "item", "rating")


def find(path: StrPath, *names: str) -> Path:
    """The file itself, or the first of the names inside the folder."""
    path = Path(path)
    candidates = [path, *(path / name for name in names)]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise RatingsInvalid(
        f"{path} is neither a file nor a folder with {' or '.join(names)}; give what was published"
    )


def beside(ratings: Path, name: str) -> Path:
    """The item file that the data set ships beside its ratings."""
    path = ratings.parent / name
    if not path.is_file():
        raise CatalogueMissing(
            f"the public item list {name} is not beside {ratings}; put it there as published"
        )
    return path


def lines(path: Path) -> list[str]:
    """The lines of an item file that are not blank. Older sets are in Latin-1 and some copies in UTF-8."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]


def separated(path: Path, separator: str, places: Sequence[int], header: bool = False) -> pl.DataFrame:
    """Columns user, item and rating, found by their places in each line, without blank lines at the end."""
    try:
        table = pl.scan_csv(
            path,
            has_header=False,
            skip_rows=int(header),
            separator=separator,
            infer_schema=False,
            quote_char=None,
        )
        names = table.collect_schema().names()
        if len(names) <= max(places):
            raise RatingsInvalid(
                f"{path} has {len(names)} fields in its first line; is it the published file?"
            )
        columns = [pl.col(names[place]).alias(name) for place, name in zip(places, _COLUMNS, strict=True)]
        return without_types(table.select(columns).collect(), Columns(*_COLUMNS))
    except pl.exceptions.PolarsError as error:
        raise RatingsInvalid(f"{path} cannot be read: {error}") from error


def number_range(last: int) -> Catalogue:
    """The catalogue of a data set that documents its items as the numbers from 1."""
    return Catalogue(range(1, last + 1))
