"""Ids of users and items: rules that both sides of the gate follow.

* an id is a whole number or a text; a column holds one kind;
* whole numbers of any width become 64-bit integers; where one of them does not fit, the whole column is kept
  as text (decimal digits), so nothing is ever rounded or wrapped;
* a number and its plain decimal text name the same thing (``7`` and ``"7"``, but not ``"07"``), because files
  without types (CSV, the keys of a JSON object) cannot tell the two apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["Id", "IdArray", "Ids", "alike", "as_ids", "infer_ids", "plain_integer", "positions"]

Id: TypeAlias = int | str
Ids: TypeAlias = Iterable[Id] | npt.NDArray[Any] | pl.Series
IdArray: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]

_WHOLE_FLOAT_LIMIT = 2.0**53


def as_ids(values: Ids) -> pl.Series:
    """Turn ids of any width or container into a series of 64-bit integers or of text; missing ones stay null.

    Raises
    ------
    TypeError
        When the values are neither whole numbers nor text, or a mixture of the two.
    """
    series = values if isinstance(values, pl.Series) else _series(values)
    dtype = series.dtype
    if dtype == pl.Object:
        series = _series(series.to_list())
        dtype = series.dtype
    if dtype == pl.String:
        return series
    if dtype in (pl.Categorical, pl.Enum, pl.Null):
        return series.cast(pl.String)
    if dtype.is_float():
        return _whole(series)
    if dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0):
        narrow = series.cast(pl.Int64, strict=False)
        return narrow if narrow.null_count() == series.null_count() else series.cast(pl.String)
    raise TypeError(f"ids must be whole numbers or text, not {dtype}; convert them to text first")


def infer_ids(text: pl.Series) -> pl.Series:
    """Ids from a file without types: integers if every one is written as a plain 64-bit integer, else text.

    ``"007"`` is not plain: reading it as 7 would merge it with ``"7"`` and give back an id that was never written.
    """
    numbers = text.cast(pl.Int64, strict=False)
    if numbers.null_count() > text.null_count() or not (numbers.cast(pl.String) == text).all():
        return text
    return numbers


def positions(ids: pl.Series, among: pl.Series) -> npt.NDArray[np.int64]:
    """Where each of `ids` stands in the distinct ids `among`; -1 where it does not. Both made by `as_ids`."""
    table = pl.DataFrame({"id": among, "position": np.arange(len(among))})
    wanted = pl.DataFrame({"id": alike(ids, among)})
    found = wanted.join(table, on="id", how="left", maintain_order="left")["position"].fill_null(-1)
    return found.to_numpy(writable=True)


def _series(values: Ids) -> pl.Series:
    listed: Any = values if isinstance(values, np.ndarray) and values.dtype != object else list(values)
    try:
        return pl.Series(listed)
    except (OverflowError, TypeError):
        # Python integers of very different sizes have no common column type; anything else is a mixture.
        if all(value is None or type(value) is int for value in listed):
            return pl.Series([None if value is None else str(value) for value in listed])
        raise TypeError("some ids are numbers and some are not; convert them all to text first") from None


def _whole(series: pl.Series) -> pl.Series:
    """Floats that are really integers, as a frame with missing values delivers them."""
    series = series.fill_nan(None)
    known = series.drop_nulls()
    if not ((known.abs() <= _WHOLE_FLOAT_LIMIT) & (known == known.round())).all():
        raise TypeError("ids must be whole numbers or text, not fractions; convert them to text first")
    return series.cast(pl.Int64)


def alike(ids: pl.Series, model: pl.Series) -> pl.Series:
    """Ids as numbers or text, as another column has them; missing where they could not be there."""
    if ids.dtype == model.dtype:
        return ids
    if model.dtype == pl.String:
        return ids.cast(pl.String)
    numbers = ids.cast(pl.Int64, strict=False)
    plain = numbers.cast(pl.String) == ids
    return numbers.set(~plain.fill_null(False), None)


def plain_integer(text: str) -> int | None:
    """The number that a text is the plain decimal text of."""
    try:
        number = int(text)
    except ValueError:
        return None
    return number if str(number) == text else None
