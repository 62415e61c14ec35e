"""From rows of ids to arrays: users in the order of their ids, a user's items as the catalogue has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, IdArray, positions
from discreet.data.checks import (
    Columns,
    Mask,
    check_filled,
    check_ids,
    check_inside,
    check_known,
    check_pairs,
    check_range,
    check_values,
    read_ids,
    read_values,
)
from discreet.data.rules import LeftOut, RowRules
from discreet.errors import RatingsInvalid

__all__ = ["Arrays", "Encoded", "arrange", "bring_inside", "encode"]

Integers = npt.NDArray[np.int64]


class Arrays(NamedTuple):
    """Ratings by user: row pointers, item indices rising within each user, values."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


class Encoded(NamedTuple):
    """Arrays, the ids they stand for (seen items only where no catalogue was given), and how many rows are out."""

    arrays: Arrays
    user_ids: IdArray
    seen_items: IdArray | None
    rating_range: tuple[float, float] | None
    left_out: LeftOut


def encode(
    frame: pl.DataFrame,
    columns: Columns,
    rating_range: tuple[float, float] | None,
    catalogue: Catalogue | None,
    rules: RowRules,
) -> Encoded:
    """Read a table of ratings into arrays, row by row as the rules say.

    A user all of whose rows were left out stays, with no ratings, as long as the rows name that user.
    """
    rating_range = check_range(rating_range, columns.rating is not None)
    check_filled(frame.height)
    users, nobody = _ids(frame[columns.user], columns.user, "user", rules)
    items, nothing = _ids(frame[columns.item], columns.item, "item", rules)
    missing, values = nobody | nothing, np.ones(frame.height)
    outside = clipped = np.zeros(frame.height, dtype=bool)
    if columns.rating is not None and rating_range is not None:
        values, unrated = read_values(frame[columns.rating], columns.rating)
        if rules.missing == "error":
            check_values(frame[columns.rating], columns.rating, unrated)
        missing |= unrated
        values, outside, clipped = bring_inside(values, missing, rating_range, rules)
    index, seen_items, n_items = _item_index(items, ~(missing | outside), catalogue)
    unknown = ~missing & ~outside & (index < 0)
    if rules.unknown_items == "error":
        check_known(unknown, items)
    met = (missing, outside, unknown, clipped & ~unknown)
    left_out = LeftOut(*(int(rows.sum()) for rows in met))
    rows = _rows(missing | outside | unknown, items, left_out)
    named = users if not nobody.any() else users.filter(pl.Series(~nobody))
    user_ids = named.unique().sort()
    place = positions(users, user_ids)
    arrays, repeats = arrange(place[rows], index[rows], values[rows], len(user_ids), n_items)
    if rules.duplicates == "error":
        check_pairs(np.arange(frame.height)[rows][repeats], users, items)
    return Encoded(arrays, user_ids.to_numpy(writable=True), seen_items, rating_range, left_out)


def bring_inside(
    values: npt.NDArray[np.float64], missing: Mask, rating_range: tuple[float, float], rules: RowRules
) -> tuple[npt.NDArray[np.float64], Mask, Mask]:
    """The values, clipped if the rules say so; which of those there lie outside the range; which were clipped."""
    low, high = rating_range
    outside = ~missing & ~((values >= low) & (values <= high))
    if rules.out_of_range == "error":
        check_inside(values, rating_range, outside)
    if rules.out_of_range != "clip":
        return values, outside, np.zeros_like(outside)
    return (np.clip(values, low, high) if outside.any() else values), np.zeros_like(outside), outside


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


def _ids(values: pl.Series, column: str, what: str, rules: RowRules) -> tuple[pl.Series, Mask]:
    if rules.missing == "error":
        return check_ids(values, column, what), np.zeros(len(values), dtype=bool)
    return read_ids(values, column)


def _item_index(
    items: pl.Series, used: Mask, catalogue: Catalogue | None
) -> tuple[Integers, IdArray | None, int]:
    if catalogue is not None:
        return catalogue.index(items), None, len(catalogue)
    seen = (items if used.all() else items.filter(pl.Series(used))).unique().sort()
    return positions(items, seen), seen.to_numpy(writable=True), len(seen)


def _rows(out: Mask, items: pl.Series, left_out: LeftOut) -> Integers | slice:
    """The rows to keep, of which there must be one."""
    if not out.any():
        return slice(None)  # the usual case: nothing to copy
    if not out.all():
        return np.flatnonzero(~out)
    if left_out.unknown_items == len(out):
        raise RatingsInvalid(
            f"none of the rated items is in the catalogue (the first is {items[0]!r}); give the catalogue of "
            "these ratings"
        )
    raise RatingsInvalid(
        f"none of the {len(out)} rows can be used: {left_out.missing} lack a user, an item or a rating, the ratings of "
        f"{left_out.out_of_range} are outside the range, {left_out.unknown_items} name items outside the catalogue; "
        "check the columns, the range and the catalogue"
    )
