"""Sums that lists are made of: over each row's entries, and over users for every item and every pair of items.

A row's numbers depend on that row alone and are added one after another: on the private side of a release nothing of
one user may move another's. Sums over users are of whole numbers, 64-bit integers modulo 2^64, so they are the same in
whatever order they are added up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.kernels.checks import check_ascending, check_rows, check_shapes, check_starts
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Array, Floats, Indices, Ints, Shorts

__all__ = ["add_pairs", "amount_sums", "row_squares", "row_sums", "transpose"]

# Entries that are worked on together: they stay in the cache beside the row of pairs that they are added to.
_PIECE = 1 << 19


def row_sums(indptr: Indices, values: Array) -> Floats:
    """Sum of the values of each row, in double precision."""
    check_starts(indptr, len(values))
    return _sums(indptr, np.zeros(len(values), np.int32), values, np.ones(1))


def row_squares(
    indptr: Indices, items: Indices, weights: Array | None = None, values: Array | Shorts | None = None
) -> Floats:
    """Sum over each row's entries of ``(weights[item] * value) ** 2``; what is left out counts as 1.

    Parameters
    ----------
    indptr, items
        Compressed sparse rows.
    weights
        One for each item.
    values
        One for each entry: floats, or int16.
    """
    check_rows(indptr, items, 2**31 - 1 if weights is None else len(weights))
    check_shapes(values=(values, items.shape))
    squares = np.ones(len(items)) if values is None else np.square(values, dtype=np.float64)
    if weights is None:
        return _sums(indptr, np.zeros(len(items), np.int32), squares, np.ones(1))
    return _sums(indptr, items, squares, np.square(weights, dtype=np.float64))


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
    turned = _matrix(indptr, items, np.arange(len(items)), n_items).tocsc()
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32), turned.data


def amount_sums(indptr: Indices, items: Indices, amounts: Ints, values: Shorts, n_items: int) -> Ints:
    """For every item the sum over its users of ``amount * value``."""
    check_rows(indptr, items, n_items)
    check_shapes(values=(values, items.shape), amounts=(amounts, (len(indptr) - 1,)))
    sums: Ints = _matrix(indptr, items, values.astype(np.int64), n_items).T @ np.asarray(amounts, np.int64)
    return sums


def add_pairs(
    indptr: Indices, items: Indices, amounts: Ints, values: Shorts, n_items: int, out: Ints
) -> None:
    """Add to every pair of items i < j the sum over users of ``amount * value_i * value_j``.

    Items of a row are strictly ascending. The pairs are one array, row by row of the triangle above the diagonal:
    (0, 1), (0, 2), .... Work: half the sum of squared row lengths; a row of pairs is one thread's own.
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


def _matrix(indptr: Indices, items: Indices, values: Array | Ints, width: int) -> Any:
    return csr_array((values, items, indptr), shape=(len(indptr) - 1, width))


def _sums(indptr: Indices, items: Indices, values: Array, weights: Array) -> Floats:
    """Sum of ``value * weights[item]`` over each row, one entry after another."""
    sums: Floats = _matrix(indptr, items, np.asarray(values, np.float64), len(weights)) @ weights
    return sums


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
