"""Rows one by one: a matrix applied to each, their lengths, inner products and order of their entries.

A row's numbers depend on that row alone: on the private side of a release nothing of one user may move another's. A
matrix product by BLAS may round a row differently when there is one row more, and so does ``np.einsum`` a long one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_index, check_shapes, check_starts
from discreet.kernels.compile import exact_kernel, kernel
from discreet.kernels.threads import claim, share
from discreet.types import Array, Bools, Floats, Indices, Ints, Shorts

__all__ = [
    "above_offsets",
    "dot_pairs",
    "longest_first",
    "lowest_entries",
    "residuals",
    "square_norms",
    "transform_rows",
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


def _owners(indptr: Indices) -> Ints:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


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


def transform_rows(rows: Array, matrix: Array) -> Floats:
    """``rows @ matrix.T`` in float64 (n x d, and width x d), each sum in the order of the columns."""
    check_shapes(matrix=(matrix, (len(matrix), rows.shape[1])))
    out = np.zeros((len(rows), len(matrix)))
    share(
        _transform_rows,
        len(rows),
        float(rows.size) * len(matrix),
        np.ascontiguousarray(rows, np.float64),
        np.ascontiguousarray(matrix.T, np.float64),
        out,
    )
    return out


def square_norms(rows: Array) -> Floats:
    """Squared length of every row in float64, summed in the same order whatever stands beside it."""
    out = np.empty(len(rows))
    share(_square_norms, len(rows), float(rows.size), np.ascontiguousarray(rows, np.float64), out)
    return out


@kernel
def _square_norms(counter: Any, grain: int, rows: Any, out: Any) -> None:
    first = claim(counter, grain)
    while first < len(out):
        for i in range(first, min(first + grain, len(out))):
            total = 0.0
            for c in range(rows.shape[1]):
                total += rows[i, c] * rows[i, c]
            out[i] = total
        first = claim(counter, grain)


@exact_kernel
def _transform_rows(counter: Any, grain: int, rows: Any, columns: Any, out: Any) -> None:
    first = claim(counter, grain)
    while first < len(out):
        for i in range(first, min(first + grain, len(out))):
            total = out[i]
            for c in range(rows.shape[1]):
                value, column = rows[i, c], columns[c]
                for k in range(len(total)):
                    total[k] += value * column[k]
        first = claim(counter, grain)
