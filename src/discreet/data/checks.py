"""Checks of input ratings; every error names the row and what to do.

Rows are counted from 1 in the order they came, without the header. Nothing is repaired silently: the only
rules that drop rows (the last of a repeated pair wins, unknown items on request) have a name and a choice.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Ids, as_ids
from discreet.errors import RatingsInvalid

__all__ = [
    "Columns",
    "Duplicates",
    "UnknownItems",
    "check_choice",
    "check_columns",
    "check_filled",
    "check_ids",
    "check_known",
    "check_pairs",
    "check_range",
    "check_values",
]

Duplicates: TypeAlias = Literal["last", "error"]
UnknownItems: TypeAlias = Literal["error", "drop"]


class Columns(NamedTuple):
    """Which column holds what; no rating column means implicit feedback."""

    user: str
    item: str
    rating: str | None = None

    def names(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self if name is not None]


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a rule that does not exist."""
    if value not in allowed:
        raise RatingsInvalid(f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")


def check_columns(present: Sequence[str], columns: Columns) -> None:
    """Refuse a table that lacks a named column, or one column named for two things."""
    for name in columns.names():
        if name not in present:
            close = difflib.get_close_matches(name, present, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "name the columns as the table has them"
            raise RatingsInvalid(
                f"there is no column {name!r}; there is {', '.join(present) or 'none'}: {hint}"
            )
    if len(set(columns.names())) < len(columns.names()):
        raise RatingsInvalid("user, item and rating must be different columns")


def check_filled(rows: int) -> None:
    """Refuse a table without rows."""
    if rows == 0:
        raise RatingsInvalid("there are no ratings: the table is empty; give at least one row")


def check_range(rating_range: tuple[float, float] | None, rated: bool) -> tuple[float, float] | None:
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
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise RatingsInvalid(f"the rating range {low:g} to {high:g} must be finite and rise from low to high")
    return low, high


def check_ids(values: Ids, column: str, what: str) -> pl.Series:
    """The ids of a column, as integers or text, none of them missing."""
    try:
        ids = as_ids(values)
    except TypeError as error:
        raise RatingsInvalid(f"column {column!r}: {error}") from error
    missing = ids.is_null() if ids.dtype != pl.String else ids.fill_null("") == ""
    if missing.any():
        raise RatingsInvalid(
            f"row {_first(missing)}: the {what} is missing in column {column!r}; fill it in or remove the row"
        )
    return ids


def check_values(
    values: pl.Series, column: str, rating_range: tuple[float, float]
) -> npt.NDArray[np.float64]:
    """The ratings of a column as floats: numbers, finite, inside the range."""
    missing = values.is_null()
    if missing.any():
        raise RatingsInvalid(
            f"row {_first(missing)}: the rating is missing in column {column!r}; remove the row or fill it in"
        )
    numbers = _numbers(values, column)
    low, high = rating_range
    outside = ~((numbers >= low) & (numbers <= high))  # written so that NaN is outside as well
    if outside.any():
        row = int(outside.argmax())
        value = numbers[row]
        if not math.isfinite(value):
            remedy = "remove the row or give it a rating"
            raise RatingsInvalid(f"row {row + 1}: the rating in column {column!r} is {value}; {remedy}")
        raise RatingsInvalid(
            f"row {row + 1}: the rating {value:g} is outside {low:g} to {high:g}; correct the row, or give "
            "the range of the whole scale"
        )
    return numbers


def check_known(index: npt.NDArray[np.int64], items: pl.Series) -> None:
    """Refuse items the catalogue does not list."""
    unknown = index < 0
    if unknown.any():
        row = int(unknown.argmax())
        distinct = items.filter(pl.Series(unknown)).n_unique()
        raise RatingsInvalid(
            f"row {row + 1}: item {items[row]!r} is not in the catalogue ({int(unknown.sum())} rows name "
            f"{distinct} unlisted items); list it there, or leave such rows out with unknown_items='drop'"
        )


def check_pairs(repeats: npt.NDArray[np.int64], users: pl.Series, items: pl.Series) -> None:
    """Refuse repeated pairs; `repeats` are the rows, counted from 0, whose pair was seen before."""
    if len(repeats):
        row = int(repeats.min())
        raise RatingsInvalid(
            f"row {row + 1}: user {users[row]!r} has rated item {items[row]!r} in an earlier row; keep one "
            "of them, or let the last one win with duplicates='last'"
        )


def _numbers(values: pl.Series, column: str) -> npt.NDArray[np.float64]:
    dtype = values.dtype
    if dtype in (pl.Categorical, pl.Enum):
        values, dtype = values.cast(pl.String), pl.String()
    if dtype == pl.String:
        numbers = values.str.strip_chars().cast(pl.Float64, strict=False)
        text = numbers.is_null()
        if text.any():
            row = _first(text)
            raise RatingsInvalid(
                f"row {row}: the rating {values[row - 1]!r} in column {column!r} is not a number; correct or "
                "remove it"
            )
    elif dtype.is_numeric():
        numbers = values.cast(pl.Float64)
    else:
        raise RatingsInvalid(
            f"column {column!r} holds {dtype}, not numbers; for implicit feedback leave the rating column out"
        )
    return numbers.to_numpy(writable=True)


def _first(mask: pl.Series) -> int:
    return int(mask.to_numpy().argmax()) + 1
