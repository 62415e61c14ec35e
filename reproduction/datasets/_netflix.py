"""The Netflix Prize, as one file a film or in the four combined files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from reproduction.datasets._files import PUBLISHED, StrPath, lines, number_range

__all__ = ["netflix"]

_FILMS = 17_770
_RANGE = (1.0, 5.0)
_FILES_AT_ONCE = 1_000


def netflix(path: StrPath) -> Ratings:
    """Read the training set of the Netflix Prize; ratings run from 1 to 5.

    Parameters
    ----------
    path
        The folder with training_set or with combined_data_*.txt, the training_set folder itself, or any one
        of the files in them. Films and titles come from movie_titles (.txt or .csv) beside them;
        without it the catalogue is the published range of film numbers, 1 to 17,770.
    """
    path = Path(path)
    frame = pl.concat([_parse(text) for text in _texts(path)])
    return Ratings.from_frame(
        frame,
        user="user",
        item="item",
        rating="rating",
        rating_range=_RANGE,
        catalogue=_films(path),
        **PUBLISHED,
    )


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


def _films(path: Path) -> Catalogue:
    start = path if path.is_dir() else path.parent
    for folder in (start, start.parent) if start.name == "training_set" else (start,):
        for name in ("movie_titles.txt", "movie_titles.csv"):
            if (folder / name).is_file():
                parts = [line.split(",", 2) for line in lines(folder / name)]  # a title may hold commas
                titles = {int(number): title for number, _, title in parts}
                return Catalogue(list(titles), titles)
    return number_range(_FILMS)
