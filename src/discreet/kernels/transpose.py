"""The order of entries and of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.checks import check_rows
from discreet.kernels.compile import kernel
from discreet.types import Indices, Ints

__all__ = ["longest_first", "transpose"]


def longest_first(indptr: Indices) -> Ints:
    """Rows by falling length: handed out in this order, no thread is left alone with a long row at the end."""
    order: Ints = np.argsort(-np.diff(indptr), kind="stable")
    return order


def transpose(indptr: Indices, items: Indices, n_items: int) -> tuple[Ints, NDArray[np.int32], Ints]:
    """The same entries item by item.

    Parameters
    ----------
    indptr, items
        Entries user by user (compressed sparse rows).
    n_items
        Number of items; every entry of `items` must be below it.

    Returns
    -------
    t_indptr, t_users, t_position
        Where each item's entries start, their users in rising order, and where each entry stands in user order.
    """
    check_rows(indptr, items, n_items)
    t_indptr = np.zeros(n_items + 1, np.int64)
    np.cumsum(np.bincount(items, minlength=n_items), out=t_indptr[1:])
    t_users = np.empty(len(items), np.int32)
    t_position = np.empty(len(items), np.int64)
    _deal(
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        t_indptr[:-1].copy(),
        t_users,
        t_position,
    )
    return t_indptr, t_users, t_position


@kernel
def _deal(indptr: Any, items: Any, following: Any, t_users: Any, t_position: Any) -> None:
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            place = following[items[entry]]
            following[items[entry]] = place + 1
            t_users[place] = user
            t_position[place] = entry
