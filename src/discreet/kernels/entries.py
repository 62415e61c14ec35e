"""Entries of sparse rows, by NumPy and SciPy: sums over each row, inner products, order.

A row's numbers depend on that row alone and are added one after another: on the private side of a release nothing of
one user may move another's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.kernels.checks import check_index, check_rows, check_shapes, check_starts
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Array, Bools, Floats, Indices, Ints, Shorts

__all__ = [
    "above_offsets",
    "dot_pairs",
    "longest_first",
    "lowest_entries",
    "residuals",
    "row_squares",
    "row_sums",
    "transpose",
    "truncated",
]

CHUNK = 2048
"""Pairs a thread takes at a time."""


def above_offsets(
    items: Indices,
    values: Array,
    offsets: Array,
    centre: float = 0.0,
    kind: type[np.floating] = np.float64,
) -> Array:
    """``(values - centre) - offsets[items]``, in double precision and rounded to ``kind`` at the end."""
    check_index(items, len(offsets))
    check_shapes(values=(values, items.shape))
    above: Array = np.subtract(values, centre, dtype=np.float64)
    above -= offsets[items]
    return above.astype(kind, copy=False)


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


def truncated(indptr: Indices, values: Array, scales: Array) -> Shorts:
    """``values * scales[row]`` truncated toward zero, which must fit an int16."""
    check_starts(indptr, len(values))
    check_shapes(scales=(scales, (len(indptr) - 1,)))
    return (values * np.repeat(scales, np.diff(indptr))).astype(np.int16)


def dot_pairs(rows: Indices, cols: Indices, left: Array, right: Array) -> Floats:
    """``left[rows[k]] . right[cols[k]]`` for every k, in float64, without a row for every k."""
    check_index(rows, len(left))
    check_index(cols, len(right))
    check_shapes(cols=(cols, rows.shape), right=(right, (len(right), left.shape[1])))
    out = np.empty(len(rows))
    share(
        _dot_pairs,
        -(-len(rows) // CHUNK),
        float(len(rows)) * left.shape[1],
        np.ascontiguousarray(rows, np.int64),
        np.ascontiguousarray(cols, np.int64),
        np.ascontiguousarray(left, np.float64),
        np.ascontiguousarray(right, np.float64),
        out,
    )
    return out


def residuals(
    indptr: Indices, items: Indices, targets: Array, coefficients: Array, features: Array
) -> Floats:
    """``targets - coefficients[i] . features[j]`` for every entry (i, j) of a sparse matrix, in float64."""
    check_starts(indptr, len(items))
    check_shapes(
        targets=(targets, items.shape), coefficients=(coefficients, (len(indptr) - 1, features.shape[1]))
    )
    left: Floats = dot_pairs(_owners(indptr), items, coefficients, features)
    return np.subtract(targets, left, out=left)


def lowest_entries(indptr: Indices, numbers: Array, most: int) -> Bools:
    """Which entries are among the ``most`` lowest of their row; of equal ones the first. NaN counts as highest."""
    check_shapes(numbers=(numbers, (int(indptr[-1]),)))
    order = np.lexsort((numbers, _owners(indptr)))
    kept: Bools = np.empty(len(numbers), dtype=np.bool_)
    kept[order] = np.arange(len(numbers)) - np.repeat(indptr[:-1], np.diff(indptr)) < most
    return kept


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
    turned = _matrix(indptr, items, np.arange(len(items)), n_items).tocsc()
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32), turned.data


def _owners(indptr: Indices) -> Ints:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _matrix(indptr: Indices, items: Indices, values: Array | Ints, width: int) -> Any:
    return csr_array((values, items, indptr), shape=(len(indptr) - 1, width))


def _sums(indptr: Indices, items: Indices, values: Array, weights: Array) -> Floats:
    """Sum of ``value * weights[item]`` over each row, one entry after another."""
    sums: Floats = _matrix(indptr, items, np.asarray(values, np.float64), len(weights)) @ weights
    return sums


@kernel
def _dot_pairs(counter: Any, grain: int, rows: Any, cols: Any, left: Any, right: Any, out: Any) -> None:
    start = claim(counter, 1) * CHUNK
    while start < len(out):
        for k in range(start, min(start + CHUNK, len(out))):
            total = 0.0
            for c in range(left.shape[1]):
                total += left[rows[k], c] * right[cols[k], c]
            out[k] = total
        start = claim(counter, 1) * CHUNK
