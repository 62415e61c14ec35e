"""Exact sums over users of what each says about their items, and about every pair of them.

A user has one whole number, and one small whole number at each of their items. Sums are 64-bit integers, modulo 2^64,
so they are the same in whatever order they are added up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from discreet.kernels.checks import check_ascending, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.entries import transpose
from discreet.kernels.threads import claim, share
from discreet.types import Floats, Indices

__all__ = ["add_pairs", "amount_sums", "co_moment", "pair_place"]

Ints = npt.NDArray[np.int64]

# Entries that are worked on together: they stay in the cache beside the row of pairs that they are added to.
_PIECE = 1 << 19


def amount_sums(
    indptr: Indices, items: Indices, amounts: Ints, values: npt.NDArray[np.int16], n_items: int
) -> Ints:
    """For every item the sum over its users of ``amount * value``."""
    check_rows(indptr, items, n_items)
    check_shapes(values=(values, items.shape), amounts=(amounts, (len(indptr) - 1,)))
    shape = len(indptr) - 1, n_items
    rows: Any = csr_array((values.astype(np.int64), items, indptr), shape=shape)
    sums: Ints = rows.T @ np.asarray(amounts, np.int64)
    return sums


def co_moment(indptr: Indices, items: Indices, values: npt.NDArray[np.int16], n_items: int) -> Floats:
    """Sum over rows of ``y y^T``, where row i has ``values`` at its items (ascending) and zeros elsewhere: exact."""
    pairs = np.zeros(n_items * (n_items - 1) // 2, np.int64)
    add_pairs(indptr, items, np.ones(len(indptr) - 1, np.int64), values, n_items, pairs)
    out = np.zeros((n_items, n_items))
    for first in range(n_items - 1):
        start = first * (2 * n_items - first - 1) // 2
        out[first, first + 1 :] = out[first + 1 :, first] = pairs[start : start + n_items - first - 1]
    out[np.diag_indices(n_items)] = np.bincount(items, np.square(values, dtype=np.float64), minlength=n_items)
    return out


def add_pairs(
    indptr: Indices, items: Indices, amounts: Ints, values: npt.NDArray[np.int16], n_items: int, out: Ints
) -> None:
    """Add to every pair of items i < j the sum over users of ``amount * value_i * value_j``.

    Items of a row are strictly ascending. The pairs are one array, row by row of the triangle above the diagonal:
    (0, 1), (0, 2), ... (`pair_place`). Work: half the sum of squared row lengths; a row of pairs is one thread's own.
    """
    check_rows(indptr, items, n_items)
    check_ascending(indptr, items)
    check_shapes(
        values=(values, items.shape),
        amounts=(amounts, (len(indptr) - 1,)),
        out=(out, (n_items * (n_items - 1) // 2,)),
    )
    starts, columns = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(items, np.int32)
    amounts, values = np.ascontiguousarray(amounts, np.int64), np.ascontiguousarray(values, np.int16)
    alike = bool((values == 1).all())
    first = 0
    while first < len(starts) - 1:
        full = int(np.searchsorted(starts, starts[first] + _PIECE, side="right")) - 1
        users, entries = (
            slice(first, max(full, first + 1)),
            slice(starts[first], starts[max(full, first + 1)]),
        )
        ends = starts[users.start : users.stop + 1] - entries.start
        by_item, owners, places = transpose(ends, columns[entries], n_items)
        share(
            _add_pairs,
            n_items,
            float((np.diff(ends).astype(np.float64) ** 2).sum() / 2),
            by_item,
            owners,
            places,
            ends[1:],
            columns[entries],
            amounts[users],
            values[entries],
            alike,
            out,
        )
        first = users.stop


def pair_place(low: Indices, high: Indices, n_items: int) -> Ints:
    """Where the pair of items ``low < high`` is among all pairs."""
    low = np.asarray(low, np.int64)
    return low * (2 * n_items - low - 1) // 2 + np.asarray(high, np.int64) - low - 1


@kernel
def _add_pairs(
    counter: Any,
    grain: int,
    by_item: Any,
    owners: Any,
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
            start = i * (2 * m - i - 1) // 2
            pairs = out[start : start + m - i - 1]
            # Unsigned: an index below 0 would mean one from the end, which is looked for at every addition.
            before = np.uint64(i + 1)
            for k in range(by_item[i], by_item[i + 1]):
                user, place = owners[k], places[k]
                amount = amounts[user] * np.int64(values[place])
                if amount == 0:
                    continue
                others, theirs = items[place + 1 : ends[user]], values[place + 1 : ends[user]]
                if alike:
                    for e in range(len(others)):
                        pairs[np.uint64(others[e]) - before] += amount
                else:
                    for e in range(len(others)):
                        pairs[np.uint64(others[e]) - before] += amount * np.int64(theirs[e])
        first = claim(counter, grain)
