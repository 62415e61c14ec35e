"""Jester jokes: the matrix of data set 1, and the list of ratings of data set 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from reproduction.datasets._files import PUBLISHED, StrPath, find, number_range, separated

__all__ = ["jester"]

_RANGE = (-10.0, 10.0)
_NOT_RATED = 99.0
_MATRIX_JOKES = (100, 150)
_LIST_JOKES = 150


def jester(path: StrPath, n_jokes: int | None = None) -> Ratings:
    """Read Jester; ratings run from -10 to 10.

    Parameters
    ----------
    path
        One of: a matrix saved from the published spreadsheets as CSV (one row for each user: how many jokes
        were rated, then the ratings, 99 where there is none); a list of user, joke and rating (with commas,
        or with tabs as in jester_ratings.dat); a folder with jester-data-*.csv, whose parts are put together,
        or with jester_ratings.csv or jester_ratings.dat. The users of a matrix are numbered from 1.
    n_jokes
        Jokes are numbered from 1 to this. By default a matrix says it by its width, 100 or 150, and for a
        list it is 150, the published number of jokes of data set 2.
    """
    folder = Path(path)
    parts = sorted(folder.glob("jester-data-*.csv")) if folder.is_dir() else []
    parts = parts or [find(path, "jester_ratings.csv", "jester_ratings.dat")]
    first, separator = _first_line(parts[0])
    if first.count(separator) >= min(_MATRIX_JOKES):
        return _matrix(parts, separator, n_jokes)
    places = (0, 2, 4) if separator == "\t" and "\t\t" in first else (0, 1, 2)
    header = not first.split(separator)[0].strip('" ').isdigit()
    frame = separated(parts[0], separator, places, header)
    return Ratings.from_frame(
        frame,
        user="user",
        item="item",
        rating="rating",
        rating_range=_RANGE,
        catalogue=number_range(n_jokes or _LIST_JOKES),
        **PUBLISHED,
    )


def _first_line(path: Path) -> tuple[str, str]:
    if path.suffix.lower() in (".xls", ".xlsx"):
        raise RatingsInvalid(f"{path} is a spreadsheet; save it as CSV, without a header, and give that file")
    with path.open(encoding="utf-8-sig") as file:
        line = file.readline().strip()
    return line, max(",;\t", key=line.count)


def _matrix(parts: list[Path], separator: str, n_jokes: int | None) -> Ratings:
    table = np.vstack([_numbers(part, separator) for part in parts])
    ratings = table[:, 1:]  # the first column counts the ratings of the row
    width = ratings.shape[1]
    if width != (n_jokes or width) or (n_jokes is None and width not in _MATRIX_JOKES):
        expected = n_jokes or " or ".join(map(str, _MATRIX_JOKES))
        raise RatingsInvalid(
            f"{parts[0]} has {width} columns of ratings; the published files have {expected}"
        )
    users, jokes = np.nonzero((ratings != _NOT_RATED) & ~np.isnan(ratings))
    entries = sparse.coo_array((ratings[users, jokes], (users, jokes)), shape=ratings.shape)
    return Ratings.from_sparse(
        entries,
        rating_range=_RANGE,
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
