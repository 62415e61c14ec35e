"""Ridge solves of all rows: one user's (or, transposed, one item's) normal equations each."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.arrays import Array, Index
from discreet.kernels.compile import kernel
from discreet.kernels.order import longest_first
from discreet.kernels.products import add_square, aligned, factor, substitute
from discreet.kernels.registers import padded
from discreet.kernels.threads import claim, share

BLOCK_BYTES = 24 * 1024
"""Gathered rows multiplied at once: with the other operands they stay in a first-level cache."""


def solve_rows(
    indptr: Index,
    items: Index,
    targets: Array,
    features: Array,
    ridge: Array,
    row_scale: Array | None = None,
    gram: Array | None = None,
    rhs: Array | None = None,
    spread: Array | None = None,
    weights: Array | None = None,
) -> Array:
    """Solve one small ridge problem for every row of a sparse matrix.

    Row i, with entries j, gives the x that solves

        (sum_j w_ij (f_j f_j^T + diag(spread_j)) + gram + row_scale_i diag(ridge)) x = sum_j w_ij t_ij f_j + rhs

    Parameters
    ----------
    indptr, items
        The entries of each row (compressed sparse rows); an item may be any row of `features`.
    targets
        t, one for each entry.
    features
        f, items x d. float32 or float64: the arithmetic and the result have this dtype.
    ridge
        Penalty of each coordinate, length d.
    row_scale
        Factor of each row's penalty; 1 where absent.
    gram, rhs
        Added to every row's matrix (d x d, symmetric) and vector (d).
    spread
        Variance of each feature, items x d: added to the diagonal for every entry.
    weights
        w, one for each entry, not negative; 1 where absent.

    Returns
    -------
    array, rows x d
        A row whose matrix is not positive definite has no solution and is given zeros.
        A row's result depends on nothing but that row, not on the number of threads either.
    """
    kind = features.dtype
    n, d = len(indptr) - 1, features.shape[1]
    out = np.zeros((n, d), kind)
    if n == 0 or d == 0:
        return out
    width = padded(d, kind)
    none = np.zeros(0, kind)
    work = float(indptr[-1]) * d * d / 2 + n * d**3 / 6
    share(
        _solve_rows,
        n,
        work,
        longest_first(indptr),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(targets, kind),
        np.ascontiguousarray(features),
        np.ascontiguousarray(ridge, kind),
        none if row_scale is None else np.ascontiguousarray(row_scale, kind),
        np.zeros((d, d), kind) if gram is None else np.ascontiguousarray(gram, kind),
        np.zeros(d, kind) if rhs is None else np.ascontiguousarray(rhs, kind),
        none.reshape(0, 0) if spread is None else np.ascontiguousarray(spread, kind),
        none if weights is None else np.ascontiguousarray(weights, kind),
        width,
        max(BLOCK_BYTES // (width * kind.itemsize), 8),
        out,
    )
    return out


@kernel
def _solve_rows(
    counter: Any,
    grain: int,
    order: Any,
    indptr: Any,
    items: Any,
    targets: Any,
    features: Any,
    ridge: Any,
    row_scale: Any,
    gram: Any,
    rhs: Any,
    spread: Any,
    weights: Any,
    width: int,
    height: int,
    out: Any,
) -> None:
    n, d = out.shape
    block = aligned(height, width, features)
    matrix = aligned(width, width, features)
    vector = np.empty(d, features.dtype)
    first = claim(counter, grain)
    while first < n:
        for place in range(first, min(first + grain, n)):
            i = order[place]
            scale = row_scale[i] if row_scale.size else features.dtype.type(1)
            _start(matrix, vector, gram, rhs, ridge, scale)
            for start in range(indptr[i], indptr[i + 1], height):
                stop = min(start + height, indptr[i + 1])
                _gather(block, vector, matrix, start, stop, items, targets, features, spread, weights)
                add_square(matrix, block, stop - start, d)
            if factor(matrix, d):
                substitute(matrix, vector, d)
                out[i] = vector
        first = claim(counter, grain)


@kernel
def _start(matrix: Any, vector: Any, gram: Any, rhs: Any, ridge: Any, scale: Any) -> None:
    """The part of the normal equations that all rows share, and this row's penalty."""
    d = len(rhs)
    for p in range(d):
        vector[p] = rhs[p]
        for q in range(d):
            matrix[p, q] = gram[p, q]
        matrix[p, p] += ridge[p] * scale


@kernel
def _gather(
    block: Any,
    vector: Any,
    matrix: Any,
    start: int,
    stop: int,
    items: Any,
    targets: Any,
    features: Any,
    spread: Any,
    weights: Any,
) -> None:
    """Copy the features of some entries side by side and add their share of the vector and of the diagonal."""
    d = features.shape[1]
    for entry in range(start, stop):
        j = items[entry]
        k = entry - start
        target = targets[entry]
        weight = features.dtype.type(1)
        if weights.size:
            weight = weights[entry]
            root = np.sqrt(weight)
            for c in range(d):
                block[k, c] = root * features[j, c]
        else:
            for c in range(d):
                block[k, c] = features[j, c]
        pull = weight * target
        for c in range(d):
            vector[c] += pull * features[j, c]
        if spread.size:
            for c in range(d):
                matrix[c, c] += weight * spread[j, c]
