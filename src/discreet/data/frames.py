"""Ratings that are no file: tables of other libraries, mappings of columns, arrays. Loaded when they are handed in.

pandas and pyarrow are used when what the person hands in needs them, and are never imported otherwise.

**Privacy.** A column of Python objects has no type of its own. One that is worked out from all values would let one
user's odd value (a text among numbers, a single-precision number in front) change how others' ids, ratings or times
are read. Here a value becomes a number, a text or nothing, whatever stands beside it; the type of the column only says
how the same ids, numbers and texts are written. See ``proofs/reading.md``.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, IdArray, Ids, as_ids
from discreet.catalogue.columns import Columns, check_columns, check_range
from discreet.data.rows import Arrays, arrange, bring_inside, check_used
from discreet.data.rules import LeftOut, RowRules, check_dropped
from discreet.errors import RatingsInvalid

__all__ = ["read_arrays", "read_frame", "read_objects"]

_What: TypeAlias = Literal["id", "number", "time"]
_Value: TypeAlias = int | float | str | None
_Range: TypeAlias = tuple[float, float]

_PLAIN: dict[type, type[pl.DataType]] = {int: pl.Int64, float: pl.Float64, str: pl.String}
_WHOLE = 2.0**53
_DIGITS = 25  # of a decimal number that is an id; those are computed to 28
_DAY_0 = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def read_frame(frame: Any, columns: Columns) -> pl.DataFrame:
    """Take the named columns of a polars, pandas or Arrow table, or of a mapping of columns."""
    try:
        if isinstance(frame, pl.LazyFrame):
            check_columns(frame.collect_schema().names(), columns)
            return read_frame(frame.select(columns.names()).collect(), columns)
        if isinstance(frame, pl.DataFrame):
            check_columns(frame.columns, columns)
            named = frame.select(columns.names())
            return _from_columns(named, columns) if pl.Object in named.dtypes else named
        if isinstance(frame, Mapping) or type(frame).__module__.partition(".")[0] == "pandas":
            return _from_columns(frame, columns)
        if hasattr(frame, "__arrow_c_stream__"):
            return read_frame(pl.DataFrame(frame), columns)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise RatingsInvalid(f"the frame cannot be read: {reason}") from error
    raise RatingsInvalid(
        f"ratings cannot be read from {type(frame).__name__}; give a polars, pandas or Arrow table, or a path"
    )


def _from_columns(frame: Any, columns: Columns) -> pl.DataFrame:
    """Column by column, so that a wide frame is not converted as a whole and giant ids survive."""
    given = frame.columns if isinstance(frame, pl.DataFrame) else frame
    names = {str(name): name for name in given}
    check_columns(list(names), columns)
    kinds: dict[str | None, _What] = {columns.user: "id", columns.item: "id", columns.time: "time"}
    table = {}
    for column in columns.names():
        values = _plain(frame[names[column]])
        try:
            what = kinds.get(column, "number")
            table[column] = read_objects(values, what) if isinstance(values, list) else pl.Series(values)
        except TypeError as error:
            raise RatingsInvalid(f"column {column!r}: {error}") from error
        except ImportError:
            raise RatingsInvalid(
                f"column {column!r} needs pyarrow; install it with: pip install pyarrow"
            ) from None
    return pl.DataFrame(table)


def _plain(values: Any) -> Any:
    """A column as polars takes it without pyarrow, where that is possible."""
    dtype = getattr(values, "dtype", None)
    if isinstance(values, pl.Series):
        return values.to_list() if dtype == pl.Object else values
    if isinstance(dtype, np.dtype):
        if dtype.kind != "O":
            return np.asarray(values)
        return list(values.where(values.notna(), None) if hasattr(values, "notna") else values)
    return list(values) if dtype is None else pl.Series(values)


def read_objects(values: list[Any], what: _What) -> pl.Series:
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


def _fits(value: _Value) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _read(value: Any, what: _What) -> _Value:
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


def read_arrays(
    indptr: npt.ArrayLike,
    items: npt.ArrayLike,
    values: npt.ArrayLike,
    catalogue: Catalogue | None,
    rating_range: _Range | None,
    user_ids: Ids | None,
    rules: RowRules,
) -> tuple[Arrays, IdArray, IdArray | None, _Range | None, LeftOut]:
    """Row pointers, item indices, values: checked, with ids of users, those of items where no catalogue lists them."""
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
    if not len(places):
        check_used(0, LeftOut(), None)
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
    return arrays, _row_ids(user_ids, len(steps)), seen, rating_range, left_out


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
