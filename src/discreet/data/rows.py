"""From rows of ids to arrays: users in the order of their ids, a user's items as the catalogue has them.

Rows are counted from 1 in the order they came, without the header. What is wrong with a table as a whole (a column that
is not there, one of another type) is an error; what is wrong with a row follows a named rule
(:class:`discreet.data.rules.RowRules`), and is an error only where that says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, IdArray, Ids, as_ids, positions
from discreet.catalogue.names import no_column
from discreet.catalogue.scale import why_no_range
from discreet.data.arrays import TIMES, Arrays, arrange, read_times
from discreet.data.rules import LeftOut, RowRules, check_dropped
from discreet.errors import RatingsInvalid
from discreet.types import Bools, Floats

__all__ = [
    "Columns",
    "Encoded",
    "Grouped",
    "Rows",
    "bring_inside",
    "check_columns",
    "check_filled",
    "check_ids",
    "check_range",
    "check_reading",
    "check_used",
    "encode",
    "encode_arrays",
    "group",
    "read_rows",
    "read_values",
]

Integers = npt.NDArray[np.int64]
Range = tuple[float, float]


class Columns(NamedTuple):
    """Which column holds what; no rating column: implicit feedback. Times say which of repeated rows is the last."""

    user: str
    item: str
    rating: str | None = None
    time: str | None = None

    def names(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self if name is not None]


def check_columns(present: Sequence[str], columns: Columns) -> None:
    """Refuse a table that lacks a named column, or one column named for two things."""
    for name in columns.names():
        if name not in present:
            raise RatingsInvalid(no_column(name, present))
    if len(set(columns.names())) < len(columns.names()):
        named = [what for what, name in columns._asdict().items() if name is not None]
        raise RatingsInvalid(f"{', '.join(named[:-1])} and {named[-1]} must be different columns")


def check_range(rating_range: Range | None, rated: bool) -> Range | None:
    """The range as two floats; it must come with ratings and only with them."""
    if rating_range is None:
        if rated:
            raise RatingsInvalid(
                "a rating column needs the public range of its scale, which is never read off the data: give "
                "rating_range=(lowest, highest), or leave the rating column out for implicit feedback"
            )
        return None
    if not rated:
        raise RatingsInvalid(
            "a rating range without a rating column: name the column, or leave the range out"
        )
    try:
        low, high = (float(bound) for bound in rating_range)
    except (TypeError, ValueError):
        raise RatingsInvalid(f"the rating range {rating_range!r} is not a pair of numbers") from None
    if wrong := why_no_range(low, high):
        raise RatingsInvalid(wrong)
    return low, high


def check_reading(columns: Columns, rating_range: Range | None, rules: RowRules) -> Range | None:
    """The range of ratings, or none for clicks."""
    if columns.time is not None and rules.duplicates == "error":
        raise RatingsInvalid(
            "a column of times says which of repeated rows is the last or the first; leave it out, or choose one of "
            "these with duplicates='last' or 'first' (--repeats)"
        )
    return check_range(rating_range, columns.rating is not None)


class Encoded(NamedTuple):
    """Arrays, the ids they stand for (seen items only where no catalogue was given), and how many rows are out."""

    arrays: Arrays
    user_ids: IdArray
    seen_items: IdArray | None
    rating_range: Range | None
    left_out: LeftOut


def encode(
    frame: pl.DataFrame,
    columns: Columns,
    rating_range: Range | None,
    catalogue: Catalogue | None,
    rules: RowRules,
) -> Encoded:
    """Read a table of ratings into arrays, row by row as the rules say.

    A user all of whose rows were left out stays, with no ratings, as long as the rows name that user.
    """
    rating_range = check_reading(columns, rating_range, rules)
    check_filled(frame.height)
    read = read_rows(frame, columns, rating_range, catalogue, rules)
    check_used(frame.height, read.left_out, read.first_item)
    check_dropped(frame.height, read.left_out, rules)
    listed = catalogue.ids if catalogue is not None else read.seen_items
    assert listed is not None
    grouped = group(read.table, listed, columns, rules)
    left_out = read.left_out._replace(merged=grouped.merged)
    user_ids = grouped.user_ids.to_numpy(writable=True)
    return Encoded(grouped.arrays, user_ids, read.seen_items, rating_range, left_out)


class Grouped(NamedTuple):
    """Users in the order of their ids, their ratings, and how many rows went into others."""

    arrays: Arrays
    user_ids: pl.Series
    merged: int


def group(rows: pl.DataFrame, listed: IdArray, columns: Columns, rules: RowRules) -> Grouped:
    """Rows that were read, in the order of their table, by user; ``listed``: the items' ids.

    A user stays of whom all rows are left out.
    """
    user_ids = rows["user"].unique().sort()
    kept = rows if (rows["place"] >= 0).all() else rows.filter(pl.col("place") >= 0)
    places = kept["place"].cast(pl.Int64).to_numpy()
    values = kept["value"].to_numpy() if "value" in rows.columns else np.ones(kept.height)
    times = None if columns.time is None else kept.select(TIMES)
    users = positions(kept["user"], user_ids)
    arrays, repeats = arrange(users, places, values, len(user_ids), len(listed), rules.duplicates, times)
    if rules.duplicates == "error" and len(repeats):
        first = kept[repeats].sort("row").row(0, named=True)
        item = as_ids(listed)[first["place"]]
        raise RatingsInvalid(
            f"row {first['row'] + 1}: user {first['user']!r} has rated item {item!r} in an "
            "earlier row; keep one of them, or let the last one win with duplicates='last'"
        )
    return Grouped(arrays, user_ids, len(repeats))


class Rows(NamedTuple):
    """Rows as the rules read them, each by itself, and how many each rule met.

    The table has the rows that name a user: ``user``, ``place`` of the item in the catalogue (or among the items seen
    where there is none; -1 where the row is left out), ``value`` if there is any, columns of times, ``row`` number.
    """

    table: pl.DataFrame
    seen_items: IdArray | None
    left_out: LeftOut
    first_item: object


def read_rows(
    frame: pl.DataFrame,
    columns: Columns,
    rating_range: Range | None,
    catalogue: Catalogue | None,
    rules: RowRules,
    before: int = 0,
) -> Rows:
    """Apply the rules to some rows of a table; ``before``: how many came before them, for the words of a refusal."""
    strict = rules.missing == "error"
    ids = check_ids if strict else _read_ids
    users, nobody = ids(frame[columns.user], columns.user, "user", before)
    items, nothing = ids(frame[columns.item], columns.item, "item", before)
    missing, values = nobody | nothing, np.ones(frame.height)
    outside = clipped = np.zeros(frame.height, dtype=bool)
    if columns.rating is not None and rating_range is not None:
        values, unrated = read_values(frame[columns.rating], columns.rating)
        if strict and unrated.any():
            _refuse_value(frame[columns.rating], unrated, before)
        missing |= unrated
        values, outside, clipped = bring_inside(values, missing, rating_range, rules, before)
    used = ~(missing | outside)
    if catalogue is not None:
        seen, index = None, catalogue.index(items)
    else:
        known = items.filter(pl.Series(used)).unique().sort()
        seen, index = known.to_numpy(writable=True), positions(items, known)
    unknown = used & (index < 0)
    if rules.unknown_items == "error" and unknown.any():
        _refuse_unknown(unknown, items, before)
    met = (missing, outside, unknown, clipped & ~unknown)
    left_out = LeftOut(*(int(rows.sum()) for rows in met))
    read = {"user": users, "place": np.where(used & ~unknown, index, -1).astype(np.int32)}
    if columns.rating is not None:
        read["value"] = values
    if columns.time is not None:
        read |= read_times(frame[columns.time]).to_dict()
    if rules.duplicates == "error":
        read["row"] = np.arange(before, before + frame.height)
    table = pl.DataFrame(read)
    return Rows(table.filter(~pl.Series(nobody)) if nobody.any() else table, seen, left_out, items[0])


def bring_inside(
    values: Floats, missing: Bools, rating_range: Range, rules: RowRules, before: int = 0
) -> tuple[Floats, Bools, Bools]:
    """The values, clipped if the rules say so; which of those there lie outside the range; which were clipped."""
    low, high = rating_range
    outside = ~missing & ~((values >= low) & (values <= high))
    if rules.out_of_range == "error" and outside.any():
        row = _first(outside)
        raise RatingsInvalid(
            f"row {before + row}: the rating {values[row - 1]:g} is outside {low:g} to {high:g}; correct the row, "
            "give the range of the whole scale, or choose what becomes of such rows with out_of_range='drop' or 'clip'"
        )
    if rules.out_of_range != "clip":
        return values, outside, np.zeros_like(outside)
    return (np.clip(values, low, high) if outside.any() else values), np.zeros_like(outside), outside


def _read_ids(values: Ids, column: str, what: str, before: int = 0) -> tuple[pl.Series, Bools]:
    """The ids of a column, as integers or text, and which rows have none."""
    if isinstance(values, pl.Series) and values.dtype.is_float():
        whole = (values == values.round()) & (values.abs() <= 2.0**53)
        values = values.set(~whole.fill_null(False), None)
    try:
        ids = as_ids(values)
    except TypeError as error:
        raise RatingsInvalid(f"column {column!r}: {error}") from error
    missing = ids.is_null() if ids.dtype != pl.String else ids.fill_null("") == ""
    return ids, missing.to_numpy()


def check_ids(values: Ids, column: str, what: str, before: int = 0) -> tuple[pl.Series, Bools]:
    """The same where none may be missing; ``before``: rows that came before these."""
    try:
        as_ids(values)  # where one has a fraction, say that
    except TypeError as error:
        raise RatingsInvalid(f"column {column!r}: {error}") from error
    ids, missing = _read_ids(values, column, what)
    if missing.any():
        raise RatingsInvalid(
            f"row {before + _first(missing)}: the {what} is missing in column {column!r}; fill it in or remove the "
            "row, or leave such rows out with missing='drop'"
        )
    return ids, missing


def read_values(values: pl.Series, column: str) -> tuple[Floats, Bools]:
    """The ratings of a column as floats, and which rows have none: nothing, a text, or no finite number."""
    dtype = values.dtype
    if dtype in (pl.Categorical, pl.Enum):
        values, dtype = values.cast(pl.String), pl.String()
    if dtype == pl.String:
        # A comma between digits is a decimal one, each row by itself; groups of thousands are no rating.
        values = values.str.strip_chars().str.replace(r"^([+-]?\d+),(\d+)$", "${1}.${2}")
    elif not dtype.is_numeric() and dtype != pl.Null:
        raise RatingsInvalid(
            f"column {column!r} holds {dtype}, not numbers; for implicit feedback leave the rating column out"
        )
    numbers = values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy(writable=True)
    return numbers, ~np.isfinite(numbers)


def _refuse_value(values: pl.Series, missing: Bools, before: int) -> NoReturn:
    row = _first(missing)
    value, column = values[row - 1], values.name
    if value is None:
        found = f"the rating is missing in column {column!r}"
    elif isinstance(value, str):
        found = f"the rating {value!r} in column {column!r} is not a number"
    else:
        found = f"the rating in column {column!r} is {value}"
    raise RatingsInvalid(
        f"row {before + row}: {found}; correct or remove it, or leave such rows out with missing='drop'"
    )


def _refuse_unknown(unknown: Bools, items: pl.Series, before: int) -> NoReturn:
    row = _first(unknown)
    distinct = items.filter(pl.Series(unknown)).n_unique()
    raise RatingsInvalid(
        f"row {before + row}: item {items[row - 1]!r} is not in the catalogue ({int(unknown.sum())} rows name "
        f"{distinct} unlisted items); list it there, or leave such rows out with unknown_items='drop'"
    )


def _first(mask: Bools) -> int:
    return int(mask.argmax()) + 1


def check_filled(rows: int) -> None:
    """Refuse a table without rows."""
    if rows == 0:
        raise RatingsInvalid("there are no ratings: the table is empty; give at least one row")


def check_used(rows: int, left_out: LeftOut, first_item: object) -> None:
    """Refuse a table of which no row can be used."""
    if left_out.dropped < rows:
        return
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


def encode_arrays(
    indptr: npt.ArrayLike,
    items: npt.ArrayLike,
    values: npt.ArrayLike,
    catalogue: Catalogue | None,
    rating_range: Range | None,
    user_ids: Ids | None,
    rules: RowRules,
) -> Encoded:
    """Ratings that come as arrays already: row pointers, item indices, values."""
    rating_range = check_range(rating_range, rated=rating_range is not None)
    pointers, places, numbers = np.asarray(indptr), np.asarray(items), np.asarray(values, dtype=np.float64)
    if pointers.ndim != 1 or places.ndim != 1 or places.shape != numbers.shape:
        raise RatingsInvalid("indptr, items and values must be flat, and items and values equally long")
    if pointers.dtype.kind not in "iu" or (places.dtype.kind not in "iu" and places.size):
        raise RatingsInvalid("indptr and items must be whole numbers")
    bounds, places = pointers.astype(np.int64), places.astype(np.int64)
    steps = bounds[1:] - bounds[:-1]
    if len(pointers) < 2 or pointers[0] != 0 or pointers[-1] != len(places) or (steps < 0).any():
        raise RatingsInvalid("indptr must rise from 0 to the number of ratings, one step for each user")
    check_filled(len(places))
    highest = int(places.max()) + 1
    n_items = highest if catalogue is None else len(catalogue)
    if places.min() < 0 or highest > n_items:
        raise RatingsInvalid(f"item indices must lie between 0 and {n_items - 1}")
    missing = ~np.isfinite(numbers)
    numbers, outside, _ = bring_inside(numbers, missing, rating_range or (-math.inf, math.inf), rules)
    left_out, kept = LeftOut(int(missing.sum()), int(outside.sum())), ~(missing | outside)
    check_used(len(kept), left_out, places[0])
    check_dropped(len(kept), left_out, rules)
    users, seen = np.repeat(np.arange(len(steps)), steps), None
    if not kept.all():
        users, places, numbers = users[kept], places[kept], numbers[kept]
    if catalogue is None:
        seen, places = np.unique(places, return_inverse=True)
        n_items = len(seen)
    numbers = np.ones(len(places)) if rating_range is None else numbers
    arrays, repeats = arrange(users, places, numbers, len(steps), n_items)
    if len(repeats):
        raise RatingsInvalid(
            f"position {repeats.min()} repeats an item of the same user; list each item once"
        )
    return Encoded(arrays, _row_ids(user_ids, len(steps)), seen, rating_range, left_out)


def _row_ids(user_ids: Ids | None, n_users: int) -> IdArray:
    if user_ids is None:
        return np.arange(n_users)
    try:
        ids = as_ids(user_ids)
    except TypeError as error:
        raise RatingsInvalid(f"the user ids cannot be used: {error}") from error
    if len(ids) != n_users:
        raise RatingsInvalid(f"there are {len(ids)} user ids for {n_users} rows; give one for each row")
    if ids.null_count() or ids.n_unique() < n_users:
        raise RatingsInvalid("the user ids have gaps or repeat; give every row its own id")
    distinct: IdArray = ids.to_numpy(writable=True)
    return distinct
