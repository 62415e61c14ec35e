"""Exact sums over users of what each says about their items, and about every pair of them.

A user has one whole number, and one small whole number at each of their items. Sums are 64-bit integers, modulo 2^64,
so they are the same in whatever order they are added up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.kernels.transpose import transpose
from discreet.types import Indices

__all__ = ["amount_sums", "pair_place", "pair_sums"]

Ints = npt.NDArray[np.int64]


def amount_sums(
    indptr: Indices, items: Indices, amounts: Ints, values: npt.NDArray[np.int16], n_items: int
) -> Ints:
    """For every item the sum over its users of ``amount * value``."""
    check_rows(indptr, items, n_items)
    check_shapes(values=(values, items.shape), amounts=(amounts, (len(indptr) - 1,)))
    out = np.zeros(n_items, np.int64)
    _amount_sums(
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(amounts, np.int64),
        np.ascontiguousarray(values, np.int16),
        out,
    )
    return out


def pair_sums(
    indptr: Indices, items: Indices, amounts: Ints, values: npt.NDArray[np.int16], n_items: int
) -> Ints:
    """For every pair of items i < j the sum over users of ``amount * value_i * value_j``.

    Items of a row are strictly ascending. The pairs are one array, row by row of the triangle above the diagonal:
    (0, 1), (0, 2), ... (`pair_place`). Work: half the sum of squared row lengths; a row of pairs is one thread's own.
    """
    check_rows(indptr, items, n_items)
    check_shapes(values=(values, items.shape), amounts=(amounts, (len(indptr) - 1,)))
    by_item, users, places = transpose(indptr, items, n_items)
    ends = np.ascontiguousarray(indptr, np.int64)[1:]
    out = np.zeros(n_items * (n_items - 1) // 2, np.int64)
    share(
        _pair_sums,
        n_items,
        float((np.diff(indptr).astype(np.float64) ** 2).sum() / 2) + len(out),
        np.ascontiguousarray(by_item, np.int64),
        np.ascontiguousarray(users, np.int64),
        np.ascontiguousarray(places, np.int64),
        ends,
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(amounts, np.int64),
        np.ascontiguousarray(values, np.int16),
        bool((values == 1).all()),
        out,
    )
    return out


def pair_place(low: Indices, high: Indices, n_items: int) -> Ints:
    """Where the pair of items ``low < high`` is among all pairs."""
    low = np.asarray(low, np.int64)
    return low * (2 * n_items - low - 1) // 2 + np.asarray(high, np.int64) - low - 1


@kernel
def _amount_sums(indptr: Any, items: Any, amounts: Any, values: Any, out: Any) -> None:
    for user in range(len(indptr) - 1):
        for place in range(indptr[user], indptr[user + 1]):
            out[items[place]] += amounts[user] * np.int64(values[place])


@kernel
def _pair_sums(
    counter: Any,
    grain: int,
    by_item: Any,
    users: Any,
    places: Any,
    ends: Any,
    items: Any,
    amounts: Any,
    values: Any,
    alike: bool,
    out: Any,
) -> None:
    m = len(by_item) - 1
    first = claim(counter, grain)
    while first < m:
        for i in range(first, min(first + grain, m)):
            # Where the pair (i, j) is: start + j.
            start = i * (2 * m - i - 1) // 2 - i - 1
            for k in range(by_item[i], by_item[i + 1]):
                user, place = users[k], places[k]
                amount = amounts[user] * np.int64(values[place])
                if amount == 0:
                    continue
                if alike:
                    for e in range(place + 1, ends[user]):
                        out[start + items[e]] += amount
                else:
                    for e in range(place + 1, ends[user]):
                        out[start + items[e]] += amount * np.int64(values[e])
        first = claim(counter, grain)
