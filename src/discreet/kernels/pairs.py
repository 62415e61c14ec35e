"""Inner products of chosen pairs of rows, without a users x items array."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Array, Floats, Indices

__all__ = ["dot_pairs", "residuals"]

CHUNK = 2048
"""Pairs a thread takes at a time."""


def dot_pairs(rows: Indices, cols: Indices, left: Array, right: Array) -> Floats:
    """``left[rows[k]] . right[cols[k]]`` for every k, in float64."""
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
    n, (m, d) = len(indptr) - 1, features.shape
    check_rows(indptr, items, m)
    check_shapes(targets=(targets, items.shape), coefficients=(coefficients, (n, d)))
    out = np.empty(len(items))
    share(
        _residuals,
        n,
        float(len(items)) * d,
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(targets, np.float64),
        np.ascontiguousarray(coefficients, np.float64),
        np.ascontiguousarray(features, np.float64),
        out,
    )
    return out


@kernel
def _dot(left: Any, i: int, right: Any, j: int) -> float:
    total = 0.0
    for c in range(left.shape[1]):
        total += left[i, c] * right[j, c]
    return total


@kernel
def _dot_pairs(counter: Any, grain: int, rows: Any, cols: Any, left: Any, right: Any, out: Any) -> None:
    start = claim(counter, 1) * CHUNK
    while start < len(out):
        for k in range(start, min(start + CHUNK, len(out))):
            out[k] = _dot(left, rows[k], right, cols[k])
        start = claim(counter, 1) * CHUNK


@kernel
def _residuals(
    counter: Any,
    grain: int,
    indptr: Any,
    items: Any,
    targets: Any,
    coefficients: Any,
    features: Any,
    out: Any,
) -> None:
    n = len(indptr) - 1
    first = claim(counter, grain)
    while first < n:
        for i in range(first, min(first + grain, n)):
            for entry in range(indptr[i], indptr[i + 1]):
                out[entry] = targets[entry] - _dot(coefficients, i, features, items[entry])
        first = claim(counter, grain)
