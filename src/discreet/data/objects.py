"""Columns of Python objects (lists, object columns of pandas): every value is read by itself.

**Privacy.** A column of objects has no type of its own. One that is worked out from all values would let one user's odd
value (a text among numbers, a single-precision number in front) change how others' ids, ratings or times are read. Here
a value becomes a number, a text or nothing, whatever stands beside it; the type of the column only says how the same
ids, numbers and texts are written. See ``proofs/reading.md``.
"""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

__all__ = ["What", "read_objects"]

What: TypeAlias = Literal["id", "number", "time"]
Value: TypeAlias = int | float | str | None

_PLAIN: dict[type, type[pl.DataType]] = {int: pl.Int64, float: pl.Float64, str: pl.String}
_WHOLE = 2.0**53
_DIGITS = 25  # of a decimal number that is an id; those are computed to 28
_DAY_0 = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def read_objects(values: list[Any], what: What) -> pl.Series:
    """A column of ids, of numbers (ratings) or of times.

    Raises
    ------
    TypeError
        When no value at all is an id.
    """
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) == 1 and kinds <= set(_PLAIN):  # the usual case, and quicker
        try:
            return pl.Series(values, dtype=_PLAIN[next(iter(kinds))])
        except (OverflowError, TypeError, ValueError, pl.exceptions.PolarsError):
            pass  # an integer beyond 64 bits, or a text that is none
    found = [_read(value, what) for value in values]
    if kinds and all(value is None for value in found):
        if what != "id":
            return pl.Series(values, strict=False)
        odd = min(kind.__name__ for kind in kinds)
        raise TypeError(f"ids must be whole numbers or text, not {odd}; convert them to text first")
    if what == "id" and all(value is None or _fits(value) for value in found):
        return pl.Series(found, dtype=pl.Int64)
    if what == "number" and not any(isinstance(value, str) for value in found):
        return pl.Series(found, dtype=pl.Float64)
    return pl.Series([None if value is None else str(value) for value in found], dtype=pl.String)


def _fits(value: Value) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _read(value: Any, what: What) -> Value:
    """A number, a text or nothing."""
    if isinstance(value, bool | np.bool_) or value is None:
        return None
    if isinstance(value, str):
        # Half of a surrogate pair is no text that could be written.
        return str(value) if value.encode(errors="ignore").decode() == value else None
    if isinstance(value, np.datetime64 | datetime.date):
        return _microseconds(value) if what == "time" else None
    if isinstance(value, decimal.Decimal) and what == "id":
        return int(value) if value.is_finite() and value.adjusted() < _DIGITS and value % 1 == 0 else None
    if isinstance(value, int | np.integer) and what != "number":
        return int(value)
    if not isinstance(value, int | np.integer | float | np.floating | decimal.Decimal):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.inf
    if what == "id":  # as of a column of floats: beyond 2^53 it is not known which whole number was meant
        return int(number) if number.is_integer() and abs(number) <= _WHOLE else None
    return number


def _microseconds(value: np.datetime64 | datetime.date) -> int | None:
    """Since 1970, in UTC, as which dates without a zone count."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else int(value.astype("datetime64[us]").astype(np.int64))
    if value != value:  # pandas' NaT
        return None
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return int((aware - _DAY_0) // _MICROSECOND)
