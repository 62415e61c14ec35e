"""From rows of ids to arrays: users in the order of their ids, a user's items as the catalogue has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, IdArray, positions
from discreet.data.checks import (
    Columns,
    Duplicates,
    UnknownItems,
    check_choice,
    check_filled,
    check_ids,
    check_known,
    check_pairs,
    check_range,
    check_values,
)
from discreet.errors import RatingsInvalid

__all__ = ["Arrays", "Encoded", "arrange", "encode"]

Integers = npt.NDArray[np.int64]


class Arrays(NamedTuple):
    """Ratings by user: row pointers, item indices rising within each user, values."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


class Encoded(NamedTuple):
    """Arrays, and the ids they stand for; the seen items only where no catalogue was given."""

    arrays: Arrays
    user_ids: IdArray
    seen_items: IdArray | None
    rating_range: tuple[float, float] | None


def encode(
    frame: pl.DataFrame,
    columns: Columns,
    rating_range: tuple[float, float] | None,
    catalogue: Catalogue | None,
    duplicates: Duplicates,
    unknown_items: UnknownItems,
) -> Encoded:
    """Check a table of ratings and turn it into arrays.

    A user all of whose items were dropped as unknown stays, with no ratings.
    """
    check_choice("duplicates", duplicates, ("last", "error"))
    check_choice("unknown_items", unknown_items, ("error", "drop"))
    rating_range = check_range(rating_range, columns.rating is not None)
    check_filled(frame.height)
    users = check_ids(frame[columns.user], columns.user, "user")
    items = check_ids(frame[columns.item], columns.item, "item")
    values = np.ones(frame.height)
    if columns.rating is not None and rating_range is not None:
        values = check_values(frame[columns.rating], columns.rating, rating_range)
    user_ids = users.unique().sort()
    index, seen_items, n_items = _item_index(items, catalogue)
    rows = _known_rows(index, items, unknown_items)
    place = positions(users, user_ids)
    arrays, repeats = arrange(place[rows], index[rows], values[rows], len(user_ids), n_items)
    if duplicates == "error":
        check_pairs(np.arange(frame.height)[rows][repeats], users, items)
    return Encoded(arrays, user_ids.to_numpy(writable=True), seen_items, rating_range)


def arrange(
    users: Integers, items: Integers, values: npt.NDArray[np.float64], n_users: int, n_items: int
) -> tuple[Arrays, Integers]:
    """Sort entries by user, then item; of equal pairs the last one stays.

    Returns
    -------
    arrays, repeats
        The sorted entries, and the positions in the input of those whose pair had come before.
    """
    keys = users * np.int64(n_items) + items
    if (keys[1:] > keys[:-1]).all():
        order, repeats = np.arange(len(keys)), np.empty(0, dtype=np.int64)
    else:
        order = np.argsort(keys, kind="stable")
        again = keys[order[1:]] == keys[order[:-1]]
        repeats = order[1:][again]
        order = order[np.append(~again, True)]
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(users[order], minlength=n_users), out=indptr[1:])
    return Arrays(indptr, items[order].astype(np.int32), values[order].astype(np.float64)), repeats


def _item_index(items: pl.Series, catalogue: Catalogue | None) -> tuple[Integers, IdArray | None, int]:
    if catalogue is not None:
        return catalogue.index(items), None, len(catalogue)
    seen = items.unique().sort()
    return positions(items, seen), seen.to_numpy(writable=True), len(seen)


def _known_rows(index: Integers, items: pl.Series, unknown_items: UnknownItems) -> Integers | slice:
    if unknown_items == "error":
        check_known(index, items)
    known = index >= 0
    if known.all():
        return slice(None)  # the usual case: nothing to copy
    if not known.any():
        raise RatingsInvalid(
            f"none of the rated items is in the catalogue (the first is {items[0]!r}); give the catalogue of "
            "these ratings"
        )
    return np.flatnonzero(known)
