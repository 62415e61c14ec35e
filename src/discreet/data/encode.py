"""From rows of ids to arrays: users in the order of their ids, a user's items as the catalogue has them."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, IdArray, as_ids, positions
from discreet.data.arrays import Arrays, arrange
from discreet.data.checks import (
    Columns,
    Mask,
    check_filled,
    check_ids,
    check_inside,
    check_known,
    check_reading,
    check_values,
    read_ids,
    read_values,
)
from discreet.data.repeats import read_times
from discreet.data.rules import LeftOut, RowRules, check_dropped
from discreet.data.weights import weigh
from discreet.errors import RatingsInvalid

__all__ = [
    "Encoded",
    "Grouped",
    "Rows",
    "bring_inside",
    "encode",
    "group",
    "read_rows",
    "refuse_all",
    "refuse_weightless",
]

Integers = npt.NDArray[np.int64]


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
    rating_range = check_reading(columns, rating_range, rules)
    check_filled(frame.height)
    read = read_rows(frame, columns, rating_range, catalogue, rules)
    if read.out.all():
        refuse_all(frame.height, read.items[0], read.left_out)
    check_dropped(frame.height, read.left_out, rules)
    listed = catalogue.ids if catalogue is not None else read.seen_items
    assert listed is not None
    place = np.where(read.out, -1, read.place)
    users, place, values, times = read.users, place, read.values, read.times
    if read.nobody.any():
        kept = np.flatnonzero(~read.nobody)
        users, place, values = users[kept], place[kept], values[kept]
        times = None if times is None else times[kept]
    else:
        kept = np.arange(frame.height)
    grouped = group(users, place, values, times, listed, columns, rules, kept)
    if grouped.weightless and not len(grouped.arrays.items):
        refuse_weightless()
    left_out = read.left_out._replace(merged=grouped.merged, weightless=grouped.weightless)
    return Encoded(
        grouped.arrays, grouped.user_ids.to_numpy(writable=True), read.seen_items, rating_range, left_out
    )


class Grouped(NamedTuple):
    """Users in the order of their ids, their ratings, and how many rows went into others, or had no weight."""

    arrays: Arrays
    user_ids: pl.Series
    merged: int
    weightless: int


def group(
    users: pl.Series,
    place: Integers,
    values: npt.NDArray[np.float64],
    times: pl.DataFrame | None,
    listed: IdArray,
    columns: Columns,
    rules: RowRules,
    rows: Integers | None,
) -> Grouped:
    """Rows in the order of their table, by user; a place of -1 is a row that is left out, whose user stays.

    Parameters
    ----------
    listed
        The items' ids.
    rows
        Numbers of the rows, from 0, for the words of a refusal.
    """
    user_ids = users.unique().sort()
    kept = slice(None) if (place >= 0).all() else np.flatnonzero(place >= 0)
    times = None if times is None else times[kept]
    entries = (positions(users, user_ids)[kept], place[kept], values[kept])
    arrays, repeats = arrange(*entries, len(user_ids), len(listed), rules.duplicates, times)
    if rules.duplicates == "error" and len(repeats):
        assert rows is not None
        again = np.arange(len(place))[kept][repeats]
        first = again[np.argmin(rows[again])]
        item = as_ids(listed)[int(place[first])]
        raise RatingsInvalid(
            f"row {rows[first] + 1}: user {users[int(first)]!r} has rated item {item!r} in an "
            "earlier row; keep one of them, or let the last one win with duplicates='last'"
        )
    arrays, weightless = (arrays, 0) if columns.weight is None else weigh(arrays, rules.graded)
    return Grouped(arrays, user_ids, len(repeats), weightless)


class Rows(NamedTuple):
    """Rows as the rules read them, each by itself.

    Parameters
    ----------
    users, nobody
        Ids, and which rows have none.
    items, place
        Ids, and their places in the catalogue (or among the items seen, where there is none).
    values, out
        Ratings, or weights, and which rows are left out.
    seen_items, left_out
        Items that were seen, where there is no catalogue, and how many rows are out.
    times
        What orders repeated rows, where a column of times is named.
    """

    users: pl.Series
    nobody: Mask
    items: pl.Series
    place: Integers
    values: npt.NDArray[np.float64]
    out: Mask
    seen_items: IdArray | None
    left_out: LeftOut
    times: pl.DataFrame | None


def read_rows(
    frame: pl.DataFrame,
    columns: Columns,
    rating_range: tuple[float, float] | None,
    catalogue: Catalogue | None,
    rules: RowRules,
    before: int = 0,
) -> Rows:
    """Apply the rules to some rows of a table; ``before``: how many came before them, for the words of a refusal."""
    users, nobody = _ids(frame[columns.user], columns.user, "user", rules, before)
    items, nothing = _ids(frame[columns.item], columns.item, "item", rules, before)
    missing, values = nobody | nothing, np.ones(frame.height)
    outside = clipped = np.zeros(frame.height, dtype=bool)
    if columns.rating is not None and rating_range is not None:
        values, unrated = read_values(frame[columns.rating], columns.rating)
        if rules.missing == "error":
            check_values(frame[columns.rating], columns.rating, unrated, before)
        missing |= unrated
        values, outside, clipped = bring_inside(values, missing, rating_range, rules, before)
    elif columns.weight is not None:
        values, weightless = read_values(frame[columns.weight], columns.weight)
        if rules.missing == "error":
            check_values(frame[columns.weight], columns.weight, weightless, before, "weight")
        missing |= weightless
    index, seen_items = _item_index(items, ~(missing | outside), catalogue)
    unknown = ~missing & ~outside & (index < 0)
    if rules.unknown_items == "error":
        check_known(unknown, items, before)
    met = (missing, outside, unknown, clipped & ~unknown)
    left_out = LeftOut(*(int(rows.sum()) for rows in met))
    times = None if columns.time is None else read_times(frame[columns.time])
    return Rows(users, nobody, items, index, values, missing | outside | unknown, seen_items, left_out, times)


def bring_inside(
    values: npt.NDArray[np.float64],
    missing: Mask,
    rating_range: tuple[float, float],
    rules: RowRules,
    before: int = 0,
) -> tuple[npt.NDArray[np.float64], Mask, Mask]:
    """The values, clipped if the rules say so; which of those there lie outside the range; which were clipped."""
    low, high = rating_range
    outside = ~missing & ~((values >= low) & (values <= high))
    if rules.out_of_range == "error":
        check_inside(values, rating_range, outside, before)
    if rules.out_of_range != "clip":
        return values, outside, np.zeros_like(outside)
    return (np.clip(values, low, high) if outside.any() else values), np.zeros_like(outside), outside


def _ids(values: pl.Series, column: str, what: str, rules: RowRules, before: int) -> tuple[pl.Series, Mask]:
    if rules.missing == "error":
        return check_ids(values, column, what, before), np.zeros(len(values), dtype=bool)
    return read_ids(values, column)


def _item_index(items: pl.Series, used: Mask, catalogue: Catalogue | None) -> tuple[Integers, IdArray | None]:
    if catalogue is not None:
        return catalogue.index(items), None
    seen = (items if used.all() else items.filter(pl.Series(used))).unique().sort()
    return positions(items, seen), seen.to_numpy(writable=True)


def refuse_all(rows: int, first_item: object, left_out: LeftOut) -> NoReturn:
    """Refuse a table of which no row can be used."""
    if left_out.unknown_items == rows:
        raise RatingsInvalid(
            f"none of the rated items is in the catalogue (the first is {first_item!r}); give the catalogue of "
            "these ratings"
        )
    raise RatingsInvalid(
        f"none of the {rows} rows can be used: {left_out.missing} lack a user, an item or a number as their rating, "
        f"the ratings of {left_out.out_of_range} are outside the range, {left_out.unknown_items} name items that the "
        "catalogue lacks; check the columns, the range and the catalogue"
    )


def refuse_weightless() -> NoReturn:
    """Refuse a table in which no pair has a weight above 0."""
    raise RatingsInvalid("no user has an item with a weight above 0; check the column of weights")
