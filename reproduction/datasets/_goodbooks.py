"""goodbooks-10k: ten thousand popular books."""

from __future__ import annotations

from discreet.catalogue import Catalogue, scan_table
from discreet.data.ratings import Ratings
from reproduction.datasets._files import PUBLISHED, StrPath, find, number_range

__all__ = ["goodbooks"]

_BOOKS = 10_000
_RANGE = (1.0, 5.0)


def goodbooks(path: StrPath) -> Ratings:
    """Read goodbooks-10k, first or second version; ratings run from 1 to 5.

    Parameters
    ----------
    path
        ratings.csv, or the folder with it. Books and titles come from books.csv beside it; without it the
        catalogue is the published range of book numbers, 1 to 10,000. The first version repeats some pairs,
        of which the last counts.
    """
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
        rating_range=_RANGE,
        catalogue=catalogue,
        **PUBLISHED,
    )
