"""Loaders for published data sets. Nothing is downloaded: each takes the path of what the person has.

Scale and catalogue are what the publisher documents, never what the ratings happen to contain.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, scan_table
from discreet.data.ratings import Ratings
from discreet.data.readers import without_types
from discreet.data.rows import Columns
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


def _rated(frame: object, rating_range: tuple[float, float], catalogue: Catalogue) -> Ratings:
    reading: dict[str, Any] = {"user": "user", "item": "item", "rating": "rating", **PUBLISHED}
    return Ratings.from_frame(frame, rating_range=rating_range, catalogue=catalogue, **reading)


def number_range(last: int) -> Catalogue:
    """The catalogue of a data set that documents its items as the numbers from 1."""
    return Catalogue(range(1, last + 1))


_BOOKS = 10_000


def goodbooks(path: StrPath) -> Ratings:
    """Read goodbooks-10k, first or second version; ratings run from 1 to 5."""
    ratings = find(path, "ratings.csv")
    books = ratings.parent / "books.csv"
    catalogue = number_range(_BOOKS)
    if books.is_file():
        # In the first version the ratings' book_id is the column id, and book_id is a number at Goodreads.
        column = "id" if "id" in scan_table(books)[0] else "book_id"
        catalogue = Catalogue.from_file(books, column)
    return Ratings.from_csv(
        ratings,
        user="user_id",
        item="book_id",
        rating="rating",
        rating_range=_FIVE_STARS,
        catalogue=catalogue,
        **PUBLISHED,
    )


_JESTER_RANGE = (-10.0, 10.0)
_NOT_RATED = 99.0
_MATRIX_JOKES = (100, 150)
_LIST_JOKES = 150


def jester(path: StrPath) -> Ratings:
    """Read Jester; ratings run from -10 to 10."""
    folder = Path(path)
    parts = sorted(folder.glob("jester-data-*.csv")) if folder.is_dir() else []
    parts = parts or [find(path, "jester_ratings.csv", "jester_ratings.dat")]
    first, separator = _first_line(parts[0])
    if first.count(separator) >= min(_MATRIX_JOKES):
        return _jester_matrix(parts, separator)
    places = (0, 2, 4) if separator == "\t" and "\t\t" in first else (0, 1, 2)
    header = not first.split(separator)[0].strip('" ').isdigit()
    frame = separated(parts[0], separator, places, header)
    return _rated(frame, _JESTER_RANGE, number_range(_LIST_JOKES))


def _first_line(path: Path) -> tuple[str, str]:
    if path.suffix.lower() in (".xls", ".xlsx"):
        raise RatingsInvalid(f"{path} is a spreadsheet; save it as CSV, without a header, and give that file")
    with path.open(encoding="utf-8-sig") as file:
        line = file.readline().strip()
    return line, max(",;\t", key=line.count)


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


_PROFILES = 220_970
_LIBIMSETI_RANGE = (1.0, 10.0)


def libimseti(path: StrPath) -> Ratings:
    """Read LibimSeTi; ratings run from 1 to 10 and the catalogue is the published profiles 1 to 220,970."""
    frame = separated(find(path, "ratings.dat"), ",", (0, 1, 2))
    return _rated(frame, _LIBIMSETI_RANGE, number_range(_PROFILES))


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


_NETFLIX_FILMS = 17_770
_FILES_AT_ONCE = 1_000


def netflix(path: StrPath) -> Ratings:
    """Read the training set of the Netflix Prize; ratings run from 1 to 5."""
    path = Path(path)
    frame = pl.concat([_parse(text) for text in _texts(path)])
    return _rated(frame, _FIVE_STARS, _netflix_films(path))


def _texts(path: Path) -> Iterator[bytes]:
    if path.is_file():
        yield path.read_bytes()
        return
    combined = sorted(path.glob("combined_data_*.txt"))
    single = sorted(path.glob("mv_*.txt")) or sorted(path.glob("training_set/mv_*.txt"))
    if not (combined or single):
        raise RatingsInvalid(f"{path} has neither combined_data_*.txt nor training_set/mv_*.txt")
    for file in combined:
        yield file.read_bytes()
    for start in range(0, 0 if combined else len(single), _FILES_AT_ONCE):
        yield b"\n".join(file.read_bytes() for file in single[start : start + _FILES_AT_ONCE])


def _parse(text: bytes) -> pl.DataFrame:
    """A line ``12:`` names the film of the lines ``user,rating,date`` that follow it."""
    text = b"user,rating,date\n" + text  # or the short first line would decide how many fields there are
    try:
        table = pl.read_csv(text, infer_schema=False, columns=["user", "rating"], quote_char=None)
    except pl.exceptions.PolarsError as error:
        raise RatingsInvalid(f"the Netflix files are not in the published format: {error}") from error
    film = pl.col("user").str.ends_with(":")
    number = pl.when(film).then(pl.col("user").str.strip_suffix(":")).cast(pl.Int32, strict=False)
    table = table.filter(pl.col("user").is_not_null()).with_columns(number.forward_fill().alias("item"))
    return table.filter(~film).select(pl.col("user").cast(pl.Int32, strict=False), "item", "rating")


def _netflix_films(path: Path) -> Catalogue:
    start = path if path.is_dir() else path.parent
    for folder in (start, start.parent) if start.name == "training_set" else (start,):
        for name in ("movie_titles.txt", "movie_titles.csv"):
            if (folder / name).is_file():
                parts = [line.split(",", 2) for line in lines(folder / name)]  # a title may hold commas
                titles = {int(number): title for number, _, title in parts}
                return Catalogue(list(titles), titles)
    return number_range(_NETFLIX_FILMS)
