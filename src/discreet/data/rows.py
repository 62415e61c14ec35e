"""From rows of ids to arrays: users in the order of their ids, a user's items as the catalogue has them.

Rows are counted from 1 in the order they came, without the header. What is wrong with a table as a whole (a column that
is not there, one of another type) is an error; what is wrong with a row follows a named rule
(:class:`discreet.data.rules.RowRules`), and is an error only where that says so.

**Privacy.** A row is read by itself, and rows of a pair belong to one user: nobody's odd row changes what is read of
another user. See ``proofs/reading.md``.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, IdArray, Ids, as_ids, positions
from discreet.catalogue.columns import Columns, Range, check_range
from discreet.data.rules import Duplicates, LeftOut, RowRules
from discreet.errors import RatingsInvalid
from discreet.types import Bools, Floats, Ints

__all__ = [
    "Arrays",
    "Rows",
    "arrange",
    "bring_inside",
    "check_reading",
    "check_used",
    "group",
    "read_ids",
    "read_rows",
    "read_times",
    "read_values",
]

TIMES = ("time", "time exactly", "time text")
"""Columns that sort by time."""


def check_reading(columns: Columns, rating_range: Range | None, rules: RowRules) -> Range | None:
    """The range of ratings, or none for clicks."""
    if columns.time is not None and rules.duplicates == "error":
        raise RatingsInvalid(
            "a column of times says which of repeated rows is the last or the first; leave it out, or choose one of "
            "these with duplicates='last' or 'first' (--repeats)"
        )
    return check_range(rating_range, columns.rating is not None)


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
    users, nobody = read_ids(frame[columns.user], columns.user, "user", before, strict=strict)
    items, nothing = read_ids(frame[columns.item], columns.item, "item", before, strict=strict)
    missing, values = nobody | nothing, np.ones(frame.height)
    outside = clipped = np.zeros(frame.height, dtype=bool)
    if columns.rating is not None and rating_range is not None:
        values, unrated = read_values(frame[columns.rating], columns.rating)
        if strict and unrated.any():
            _refuse_value(frame[columns.rating], unrated, before)
        missing |= unrated
        values, outside, clipped = bring_inside(values, missing, rating_range, rules, before)
    used = ~(missing | outside)
    # The catalogue is public, and is asked for its list alone: where an item stands in it is looked for here.
    listed = items.filter(pl.Series(used)).unique().sort() if catalogue is None else as_ids(catalogue.ids)
    index = positions(items, listed)
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
    seen = listed.to_numpy(writable=True) if catalogue is None else None
    named = table.filter(~pl.Series(nobody)) if nobody.any() else table
    return Rows(named, seen, left_out, next(iter(items), None))


def read_ids(
    values: Ids, column: str, what: str, before: int = 0, *, strict: bool = False
) -> tuple[pl.Series, Bools]:
    """The ids of a column, as integers or text, and which rows have none; ``strict``: refused if any has none."""
    try:
        if not strict and isinstance(values, pl.Series) and values.dtype.is_float():
            whole = (values == values.round()) & (values.abs() <= 2.0**53)
            values = values.set(~whole.fill_null(False), None)
        ids = as_ids(values)
    except TypeError as error:
        raise RatingsInvalid(f"column {column!r}: {error}") from error
    missing: Bools = (ids.is_null() if ids.dtype != pl.String else ids.fill_null("") == "").to_numpy()
    if strict and missing.any():
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


def read_times(values: pl.Series) -> pl.DataFrame:
    """Columns that sort by time, each row read by itself: a number, the whole number that it is, a text if it is none.

    Numbers count as numbers and dates of a typed table as dates; a text such as ``2024-05-01 10:00`` sorts as text,
    after rows without a time and before numbers. Whole numbers count to the last digit (nanoseconds), whether they
    come as such or as text: what else is in the column must not round them.
    """
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    nothing = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(values))
    text = nothing.cast(pl.String)
    if values.dtype == pl.String:
        plain = values.str.strip_chars()
        number, whole = _finite(plain.cast(pl.Float64, strict=False)), plain.cast(pl.Int64, strict=False)
        text = values.set(number.is_not_null(), None)
    else:
        plain = values.to_physical()
        exact = values.dtype.is_temporal() or values.dtype.is_integer()
        number = _finite(plain.cast(pl.Float64, strict=False))
        whole = plain.cast(pl.Int64, strict=False) if exact else nothing
    return pl.DataFrame(dict(zip(TIMES, (number, whole, text), strict=True)))


def _finite(number: pl.Series) -> pl.Series:
    return number.set(~number.is_finite().fill_null(True), None)


def check_used(rows: int, left_out: LeftOut, first_item: object) -> None:
    """Refuse a table without rows, or of which no row can be used."""
    if rows == 0:
        raise RatingsInvalid("there are no ratings: the table is empty; give at least one row")
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


class Arrays(NamedTuple):
    """Ratings by user: row pointers, item indices rising within each user, values."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


def group(
    rows: pl.DataFrame, listed: IdArray, columns: Columns, rules: RowRules
) -> tuple[Arrays, pl.Series, int]:
    """Rows that were read, by user: their ratings, the users in the order of their ids, how many rows went into others.

    ``listed``: the items' ids. A user stays of whom all rows are left out.
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
    return arrays, user_ids, len(repeats)


def arrange(
    users: Ints,
    items: Ints,
    values: Floats,
    n_users: int,
    n_items: int,
    rule: Duplicates = "last",
    times: pl.DataFrame | None = None,
) -> tuple[Arrays, Ints]:
    """Sort entries by user, then item; equal pairs become one by the rule, in the order of times if there are any.

    Also the positions in the input of those whose pair had come before.
    """
    keys = users * np.int64(n_items) + items
    order: Ints | slice = slice(None)
    repeats = np.empty(0, dtype=np.int64)
    if not (keys[1:] > keys[:-1]).all():
        order = _in_order(keys, times)
        again = keys[order[1:]] == keys[order[:-1]]
        repeats = order[1:][again]
        order = order[np.append(True, ~again) if rule == "first" else np.append(~again, True)]
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(users[order], minlength=n_users), out=indptr[1:])
    return Arrays(indptr, items[order].astype(np.int32), values[order].astype(np.float64)), repeats


def _in_order(keys: Ints, times: pl.DataFrame | None) -> Ints:
    """Positions by key, then by time, then as they came; those without a time come first."""
    if times is None:
        return np.argsort(keys, kind="stable")
    table = times.with_columns(pl.Series("key", keys)).with_row_index("row")
    by = ["key", *TIMES, "row"]
    return table.sort(by, nulls_last=False)["row"].to_numpy().astype(np.int64)


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
