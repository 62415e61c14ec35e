"""Ratings as arrays: users in rows, a user's items one after another; one entry for each pair of user and item.

**Privacy.** Rows of a pair belong to one user. Which of them is the last is decided by those rows alone: a time is read
row by row (a number if it is one, else a text), never by what the rest of the column looks like, so nobody's odd
time changes the order of another user's rows. See ``proofs/reading.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.data.rules import Duplicates
from discreet.types import Floats

__all__ = ["TIMES", "Arrays", "arrange", "read_times"]

TIMES = ("time", "time exactly", "time text")
"""Columns that sort by time."""

Integers = npt.NDArray[np.int64]


class Arrays(NamedTuple):
    """Ratings by user: row pointers, item indices rising within each user, values."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


def arrange(
    users: Integers,
    items: Integers,
    values: Floats,
    n_users: int,
    n_items: int,
    rule: Duplicates = "last",
    times: pl.DataFrame | None = None,
) -> tuple[Arrays, Integers]:
    """Sort entries by user, then item; equal pairs become one by the rule, in the order of times if there are any.

    Also the positions in the input of those whose pair had come before.
    """
    keys = users * np.int64(n_items) + items
    order: Integers | slice = slice(None)
    repeats = np.empty(0, dtype=np.int64)
    if not (keys[1:] > keys[:-1]).all():
        order = _in_order(keys, times)
        again = keys[order[1:]] == keys[order[:-1]]
        repeats = order[1:][again]
        order = order[np.append(True, ~again) if rule == "first" else np.append(~again, True)]
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(users[order], minlength=n_users), out=indptr[1:])
    return Arrays(indptr, items[order].astype(np.int32), values[order].astype(np.float64)), repeats


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


def _in_order(keys: Integers, times: pl.DataFrame | None) -> Integers:
    """Positions by key, then by time, then as they came; those without a time come first."""
    if times is None:
        return np.argsort(keys, kind="stable")
    table = times.with_columns(pl.Series("key", keys)).with_row_index("row")
    by = ["key", *TIMES, "row"]
    return table.sort(by, nulls_last=False)["row"].to_numpy().astype(np.int64)
