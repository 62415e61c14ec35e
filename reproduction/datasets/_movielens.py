"""MovieLens, in the three layouts in which GroupLens has published it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid, SettingsInvalid
from reproduction.datasets._files import PUBLISHED, StrPath, beside, find, lines, separated

__all__ = ["Edition", "movielens"]

Edition: TypeAlias = Literal["100k", "1m", "10m", "20m", "25m", "32m"]

# The scale is public knowledge about an edition; it is never read off the ratings.
_WHOLE_STARS = (1.0, 5.0)
_HALF_STARS = (0.5, 5.0)


def movielens(path: StrPath, edition: Edition) -> Ratings:
    """Read MovieLens with the public film list that comes with it.

    Parameters
    ----------
    path
        The folder of the edition, or its ratings file with the film list beside it.
    edition
        ``"100k"`` (u.data, u.item), ``"1m"`` and ``"10m"`` (ratings.dat, movies.dat), ``"20m"``, ``"25m"``
        and ``"32m"`` (ratings.csv, movies.csv). It decides the scale: whole stars from 1 in the first two,
        half stars from 0.5 in the others.
    """
    if edition == "100k":
        return _hundred_thousand(path)
    if edition in ("1m", "10m"):
        return _double_colons(path, _WHOLE_STARS if edition == "1m" else _HALF_STARS)
    if edition in ("20m", "25m", "32m"):
        return _commas(path)
    raise SettingsInvalid(f"there is no MovieLens {edition!r}; it is one of 100k, 1m, 10m, 20m, 25m, 32m")


def _hundred_thousand(path: StrPath) -> Ratings:
    ratings = find(path, "u.data")
    films = _titled([line.split("|")[:2] for line in lines(beside(ratings, "u.item"))], "u.item")
    return _read(separated(ratings, "\t", (0, 1, 2)), films, _WHOLE_STARS)


def _double_colons(path: StrPath, rating_range: tuple[float, float]) -> Ratings:
    ratings = find(path, "ratings.dat")
    # A title may hold colons, so only the first and the last separator of a line count.
    parts = [line.split("::") for line in lines(beside(ratings, "movies.dat"))]
    films = _titled([[part[0], "::".join(part[1:-1])] for part in parts], "movies.dat")
    # Split at single colons, every second field is empty.
    return _read(separated(ratings, ":", (0, 2, 4)), films, rating_range)


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


def _read(frame: object, films: Catalogue, rating_range: tuple[float, float]) -> Ratings:
    return Ratings.from_frame(
        frame,
        user="user",
        item="item",
        rating="rating",
        rating_range=rating_range,
        catalogue=films,
        **PUBLISHED,
    )
