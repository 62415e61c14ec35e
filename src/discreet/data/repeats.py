"""Rows that repeat a pair of user and item: which of them counts, or what all of them make together.

**Privacy.** Rows of a pair belong to one user. Which of them is the last is decided by those rows alone: a time is read
row by row (a number if it is one, else a text), never by what the rest of the column looks like, so nobody's odd
time changes the order of another user's rows. See ``proofs/reading.md``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.data.rules import Duplicates

__all__ = ["TIMES", "in_order", "merge", "read_times"]

TIMES = ("time", "time exactly", "time text")
"""Columns that sort by time."""

Integers = npt.NDArray[np.int64]


def read_times(values: pl.Series) -> pl.DataFrame:
    """Columns that sort by time, each row read by itself: a number, the whole number that it is, a text if it is none.

    Numbers count as numbers and dates of a typed table as dates; a text such as ``2024-05-01 10:00`` sorts as text,
    after rows without a time and before numbers. Whole numbers count to the last digit (nanoseconds), whether they
    come as such or as text: what else is in the column must not round them.
    """
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        plain = values.str.strip_chars()
        number, whole = _finite(plain.cast(pl.Float64, strict=False)), plain.cast(pl.Int64, strict=False)
        text = values.set(number.is_not_null(), None)
    else:
        plain = values.to_physical()
        exact = values.dtype.is_temporal() or values.dtype.is_integer()
        number = _finite(plain.cast(pl.Float64, strict=False))
        whole = plain.cast(pl.Int64, strict=False) if exact else _nothing(len(values), pl.Int64())
        text = _nothing(len(values), pl.String())
    return pl.DataFrame(dict(zip(TIMES, (number, whole, text), strict=True)))


def in_order(keys: Integers, times: pl.DataFrame | None) -> Integers:
    """Positions by key, then by time, then as they came; those without a time come first."""
    if times is None:
        return np.argsort(keys, kind="stable")
    table = times.with_columns(pl.Series("key", keys)).with_row_index("row")
    by = ["key", *TIMES, "row"]
    return table.sort(by, nulls_last=False)["row"].to_numpy().astype(np.int64)


def merge(
    order: Integers, again: npt.NDArray[np.bool_], values: npt.NDArray[np.float64], rule: Duplicates
) -> tuple[Integers, npt.NDArray[np.float64]]:
    """One entry for each pair: its position in the input, and its value.

    Parameters
    ----------
    order
        Positions, those of a pair one after another.
    again
        For each but the first, whether its pair is that of the one before.
    """
    first, last = np.append(True, ~again), np.append(~again, True)
    if rule == "first":
        return order[first], values[order[first]]
    if rule in ("last", "error"):
        return order[last], values[order[last]]
    sorted_values = values[order]
    pair = np.cumsum(first) - 1
    # One after another: the same bits wherever it is computed.
    total: npt.NDArray[np.float64] = np.bincount(pair, weights=sorted_values).astype(np.float64)
    if rule == "sum":
        return order[last], total
    start = np.flatnonzero(first)
    mean = total / np.bincount(pair)
    # Rounding must not carry a mean out of what it is a mean of, which lies inside the range.
    return order[last], np.clip(
        mean, np.minimum.reduceat(sorted_values, start), np.maximum.reduceat(sorted_values, start)
    )


def _finite(number: pl.Series) -> pl.Series:
    return number.set(~number.is_finite().fill_null(True), None)


def _nothing(rows: int, dtype: pl.DataType) -> pl.Series:
    return pl.Series([None] * rows, dtype=dtype)
