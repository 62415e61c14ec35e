"""Ratings as arrays: users in rows, a user's items one after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.data.repeats import in_order, merge
from discreet.data.rules import Duplicates

__all__ = ["Arrays", "arrange"]

Integers = npt.NDArray[np.int64]


class Arrays(NamedTuple):
    """Ratings by user: row pointers, item indices rising within each user, values."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


def arrange(
    users: Integers,
    items: Integers,
    values: npt.NDArray[np.float64],
    n_users: int,
    n_items: int,
    rule: Duplicates = "last",
    times: pl.DataFrame | None = None,
) -> tuple[Arrays, Integers]:
    """Sort entries by user, then item; equal pairs become one by the rule, in the order of times if there are any.

    Returns
    -------
    arrays, repeats
        The sorted entries, and the positions in the input of those whose pair had come before.
    """
    keys = users * np.int64(n_items) + items
    order, repeats = np.arange(len(keys)), np.empty(0, dtype=np.int64)
    if not (keys[1:] > keys[:-1]).all():
        order = in_order(keys, times)
        again = keys[order[1:]] == keys[order[:-1]]
        repeats = order[1:][again]
        order, values = merge(order, again, values, rule)
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(users[order], minlength=n_users), out=indptr[1:])
    return Arrays(indptr, items[order].astype(np.int32), values.astype(np.float64)), repeats
