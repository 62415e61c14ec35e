"""Loaders for published data sets. Nothing is downloaded: each takes the path of what the person has.

Scale and catalogue are what the publisher documents, never what the ratings happen to contain.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue
from discreet.catalogue.columns import Columns
from discreet.data.ratings import Ratings
from discreet.data.readers import without_types
from discreet.errors import CatalogueMissing, RatingsInvalid, SettingsInvalid

PUBLISHED: dict[str, Any] = {"missing": "error", "out_of_range": "error", "unknown_items": "error"}
"""How rows of published files are read: one that does not fit means that it is another file."""

_FIVE_STARS = (1.0, 5.0)
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


def separated(path: Path, separator: str, places: Sequence[int]) -> pl.DataFrame:
    """Columns user, item and rating, found by their places in each line, without blank lines at the end."""
    try:
        table = pl.scan_csv(
            path,
            has_header=False,
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


def _rated(frame: object, rating_range: tuple[float, float], catalogue: Catalogue) -> Ratings:
    reading: dict[str, Any] = {"user": "user", "item": "item", "rating": "rating", **PUBLISHED}
    return Ratings.from_frame(frame, rating_range=rating_range, catalogue=catalogue, **reading)


def number_range(last: int) -> Catalogue:
    """The catalogue of a data set that documents its items as the numbers from 1."""
    return Catalogue(range(1, last + 1))


def goodbooks(path: StrPath) -> Ratings:
    """Read goodbooks-10k in its second version; ratings run from 1 to 5."""
    ratings = find(path, "ratings.csv")
    return Ratings.from_csv(
        ratings,
        user="user_id",
        item="book_id",
        rating="rating",
        rating_range=_FIVE_STARS,
        catalogue=Catalogue.from_file(beside(ratings, "books.csv"), "book_id"),
        **PUBLISHED,
    )


_JESTER_RANGE = (-10.0, 10.0)
_NOT_RATED = 99.0
_MATRIX_JOKES = (100, 150)


def jester(path: StrPath) -> Ratings:
    """Read Jester; ratings run from -10 to 10."""
    folder = Path(path)
    parts = sorted(folder.glob("jester-data-*.csv")) if folder.is_dir() else []
    parts = parts or [find(path, "jester-data-1.csv")]
    return _jester_matrix(parts, _separator(parts[0]))


def _separator(path: Path) -> str:
    if path.suffix.lower() in (".xls", ".xlsx"):
        raise RatingsInvalid(f"{path} is a spreadsheet; save it as CSV, without a header, and give that file")
    with path.open(encoding="utf-8-sig") as file:
        line = file.readline().strip()
    return max(",;\t", key=line.count)


def _jester_matrix(parts: list[Path], separator: str) -> Ratings:
    table = np.vstack([_numbers(part, separator) for part in parts])
    ratings = table[:, 1:]  # the first column counts the ratings of the row
    width = ratings.shape[1]
    if width not in _MATRIX_JOKES:
        expected = " or ".join(map(str, _MATRIX_JOKES))
        raise RatingsInvalid(
            f"{parts[0]} has {width} columns of ratings; the published files have {expected}"
        )
    users, jokes = np.nonzero((ratings != _NOT_RATED) & ~np.isnan(ratings))
    counts = np.bincount(users, minlength=len(ratings))
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        jokes,
        ratings[users, jokes],
        rating_range=_JESTER_RANGE,
        catalogue=number_range(width),
        user_ids=np.arange(1, len(ratings) + 1),
        allow_dropped=0.0,
    )


def _numbers(path: Path, separator: str) -> npt.NDArray[np.float64]:
    try:
        table = pl.read_csv(path, has_header=False, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise RatingsInvalid(f"{path} cannot be read: {error}") from error
    if table.width < min(_MATRIX_JOKES):
        raise RatingsInvalid(f"{path} has only {table.width} columns; the parts must all be matrices")
    table = table.filter(pl.any_horizontal(pl.all().is_not_null()))
    numbers = table.select(pl.all().str.strip_chars().cast(pl.Float64, strict=False))
    text = table.select(pl.all().is_not_null()).to_numpy() & numbers.select(pl.all().is_null()).to_numpy()
    if text.any():
        row, column = np.argwhere(text)[0].tolist()
        raise RatingsInvalid(f"row {row + 1}, column {column + 1}: {table[row, column]!r} is not a number")
    return numbers.to_numpy()


Edition: TypeAlias = Literal["1m", "10m", "20m"]

# The scale is public knowledge about an edition; it is never read off the ratings.
_HALF_STARS = (0.5, 5.0)


def movielens(path: StrPath, edition: Edition) -> Ratings:
    """Read MovieLens with the public film list that comes with it."""
    if edition in ("1m", "10m"):
        return _double_colons(path, _FIVE_STARS if edition == "1m" else _HALF_STARS)
    if edition == "20m":
        return _commas(path)
    raise SettingsInvalid(f"there is no MovieLens {edition!r}; it is one of 1m, 10m, 20m")


def _double_colons(path: StrPath, rating_range: tuple[float, float]) -> Ratings:
    ratings = find(path, "ratings.dat")
    # A title may hold colons, so only the first and the last separator of a line count.
    parts = [line.split("::") for line in lines(beside(ratings, "movies.dat"))]
    films = _titled([[part[0], "::".join(part[1:-1])] for part in parts], "movies.dat")
    # Split at single colons, every second field is empty.
    return _rated(separated(ratings, ":", (0, 2, 4)), rating_range, films)


def _commas(path: StrPath) -> Ratings:
    ratings = find(path, "ratings.csv")
    return Ratings.from_csv(
        ratings,
        user="userId",
        item="movieId",
        rating="rating",
        rating_range=_HALF_STARS,
        catalogue=Catalogue.from_file(beside(ratings, "movies.csv"), column="movieId"),
    )


def _titled(films: list[list[str]], name: str) -> Catalogue:
    try:
        titles = {int(number): title for number, title in films}
    except ValueError:
        raise RatingsInvalid(f"{name} is not in the published format: a line has no film number") from None
    return Catalogue(list(titles), titles)
