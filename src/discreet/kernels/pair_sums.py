"""Exact sums over users of what each says about their items, and about every pair of them.

A user has one whole number, and one small whole number at each of their items. Sums are 64-bit integers, modulo 2^64,
so they are the same in whatever order they are added up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kernels.checks import check_ascending, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.kernels.transpose import transpose
from discreet.types import Indices

__all__ = ["add_pairs", "amount_sums", "pair_place"]

Ints = npt.NDArray[np.int64]

# Entries that are worked on together: they stay in the cache beside the row of pairs that they are added to.
_PIECE = 1 << 19


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
def _amount_sums(indptr: Any, items: Any, amounts: Any, values: Any, out: Any) -> None:
    for user in range(len(indptr) - 1):
        for place in range(indptr[user], indptr[user + 1]):
            out[items[place]] += amounts[user] * np.int64(values[place])


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
