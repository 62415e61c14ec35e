"""Checks of input ratings; every error names the row and what to do.

Rows are counted from 1 in the order they came, without the header. What is wrong with a table as a whole (a column that
is not there, one of another type) is an error; what is wrong with a row follows a named rule
(:class:`discreet.data.rules.RowRules`), and is an error only where that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Ids, as_ids
from discreet.catalogue.names import no_column
from discreet.catalogue.scale import why_no_range
from discreet.data.rules import GRADES, RowRules
from discreet.errors import RatingsInvalid

__all__ = [
    "Columns",
    "Mask",
    "check_columns",
    "check_filled",
    "check_ids",
    "check_inside",
    "check_known",
    "check_range",
    "check_reading",
    "check_values",
    "read_ids",
    "read_values",
]

Mask: TypeAlias = npt.NDArray[np.bool_]


class Columns(NamedTuple):
    """Which column holds what; no rating column means implicit feedback.

    Weights (play counts) stand in place of ratings; times say which of repeated rows is the last.
    """

    user: str
    item: str
    rating: str | None = None
    weight: str | None = None
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
    if wrong := why_no_range(low, high):
        raise RatingsInvalid(wrong)
    return low, high


def check_reading(
    columns: Columns, rating_range: tuple[float, float] | None, rules: RowRules
) -> tuple[float, float] | None:
    """The range of the values that come out: that of ratings, that of graded weights, or none for clicks."""
    if columns.time is not None and rules.duplicates not in ("last", "first"):
        raise RatingsInvalid(
            "a column of times says which of repeated rows is the last or the first; leave it out, or choose one of "
            "these with duplicates='last' or 'first' (--repeats)"
        )
    if columns.weight is None:
        if rules.graded is not None or rules.duplicates == "sum":
            told = "graded" if rules.graded is not None else "a sum of repeated rows"
            raise RatingsInvalid(
                f"{told} is for weights such as play counts; name their column (weight, --weight)"
            )
        return check_range(rating_range, columns.rating is not None)
    if columns.rating is not None or rating_range is not None:
        raise RatingsInvalid(
            "weights stand in place of ratings; leave out the weights, or the rating column and its range"
        )
    return None if rules.graded is None else GRADES


def read_ids(values: Ids, column: str) -> tuple[pl.Series, Mask]:
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


def check_ids(values: Ids, column: str, what: str, before: int = 0) -> pl.Series:
    """The ids of a column, as integers or text, none of them missing; ``before``: rows that came before these."""
    try:
        as_ids(values)  # where one has a fraction, say that
    except TypeError as error:
        raise RatingsInvalid(f"column {column!r}: {error}") from error
    ids, missing = read_ids(values, column)
    if missing.any():
        raise RatingsInvalid(
            f"row {before + _first(missing)}: the {what} is missing in column {column!r}; fill it in or remove the "
            "row, or leave such rows out with missing='drop'"
        )
    return ids


def read_values(values: pl.Series, column: str) -> tuple[npt.NDArray[np.float64], Mask]:
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


def check_values(
    values: pl.Series, column: str, missing: Mask, before: int = 0, what: str = "rating"
) -> None:
    """Refuse a column in which a rating, or a weight, is missing."""
    if missing.any():
        row = _first(missing)
        value = values[row - 1]
        if value is None:
            found = f"the {what} is missing in column {column!r}"
        elif isinstance(value, str):
            found = f"the {what} {value!r} in column {column!r} is not a number"
        else:
            found = f"the {what} in column {column!r} is {value}"
        raise RatingsInvalid(
            f"row {before + row}: {found}; correct or remove it, or leave such rows out with missing='drop'"
        )


def check_inside(
    numbers: npt.NDArray[np.float64], rating_range: tuple[float, float], outside: Mask, before: int = 0
) -> None:
    """Refuse ratings outside the range."""
    if outside.any():
        row, (low, high) = _first(outside), rating_range
        raise RatingsInvalid(
            f"row {before + row}: the rating {numbers[row - 1]:g} is outside {low:g} to {high:g}; correct the row, "
            "give the range of the whole scale, or choose what becomes of such rows with out_of_range='drop' or 'clip'"
        )


def check_known(unknown: Mask, items: pl.Series, before: int = 0) -> None:
    """Refuse items the catalogue does not list."""
    if unknown.any():
        row = int(unknown.argmax())
        distinct = items.filter(pl.Series(unknown)).n_unique()
        raise RatingsInvalid(
            f"row {before + row + 1}: item {items[row]!r} is not in the catalogue ({int(unknown.sum())} rows name "
            f"{distinct} unlisted items); list it there, or leave such rows out with unknown_items='drop'"
        )


def _first(mask: Mask) -> int:
    return int(mask.argmax()) + 1
