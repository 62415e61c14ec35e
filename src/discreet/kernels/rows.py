"""Ridge solves of all rows: one user's (or, transposed, one item's) normal equations each."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.cholesky import factor, substitute
from discreet.kernels.compile import kernel
from discreet.kernels.entries import longest_first
from discreet.kernels.products import add_square, aligned, clear
from discreet.kernels.registers import BYTES, HEIGHT, padded
from discreet.kernels.threads import claim, share
from discreet.kernels.tiles import load, splat, store
from discreet.types import Array, Indices

__all__ = ["gather", "pad_matrix", "solve_rows", "start_row"]

BLOCK_BYTES = 32 * 1024
"""Gathered rows multiplied at once: with the other operands they stay in a first-level cache."""


def solve_rows(
    indptr: Indices,
    items: Indices,
    targets: Array,
    features: Array,
    ridge: Array,
    row_scale: Array | None = None,
    gram: Array | None = None,
    rhs: Array | None = None,
) -> Array:
    """Solve one small ridge problem for every row of a sparse matrix.

    Row i, with entries j, gives the x that solves

        (sum_j f_j f_j^T + gram + row_scale_i diag(ridge)) x = sum_j t_ij f_j + rhs

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

    Returns
    -------
    array, rows x d
        A row whose matrix is not positive definite has no solution and is given zeros.
        A row's result depends on nothing but that row, not on the number of threads either.
    """
    kind = features.dtype
    n, (m, d) = len(indptr) - 1, features.shape
    check_rows(indptr, items, m)
    check_shapes(
        targets=(targets, items.shape),
        ridge=(ridge, (d,)),
        row_scale=(row_scale, (n,)),
        gram=(gram, (d, d)),
        rhs=(rhs, (d,)),
    )
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
        _pad_rows(features),
        np.ascontiguousarray(ridge, kind),
        none if row_scale is None else np.ascontiguousarray(row_scale, kind),
        pad_matrix(gram, d, width, kind),
        np.zeros(d, kind) if rhs is None else np.ascontiguousarray(rhs, kind),
        max(BLOCK_BYTES // (width * kind.itemsize), 8),
        out,
    )
    return out


def _pad_rows(features: Array) -> Array:
    """Features in whole registers, each row starting on a register's border."""
    m, d = features.shape
    out: Array = aligned(m, padded(d, features.dtype), features)
    out[:, :d] = features
    return out


def pad_matrix(gram: Array | None, d: int, width: int, kind: np.dtype[Any]) -> Array:
    """The matrix all rows share; ones on the diagonal of its padding keep it positive definite.

    Below the blocks on its diagonal it is zero, and stays zero: what nobody reads may still lie in a register with
    what is read, and must not grow.
    """
    matrix = np.eye(width, dtype=kind)
    matrix[:d, :d] = 0 if gram is None else gram
    block = np.arange(width) // HEIGHT
    matrix[block[:, None] > block] = 0
    return matrix


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
    height: int,
    out: Any,
) -> None:
    n, d = out.shape
    width = gram.shape[0]
    block, matrix = aligned(height, width, features), aligned(width, width, features)
    vector, solution = aligned(2, width, features), aligned(2, width, features)
    corners = np.empty((width // HEIGHT, HEIGHT, HEIGHT), features.dtype)
    first = claim(counter, grain)
    while first < n:
        for place in range(first, min(first + grain, n)):
            i = order[place]
            start_row(
                matrix, vector, gram, rhs, ridge, row_scale[i] if row_scale.size else features.dtype.type(1)
            )
            for start in range(indptr[i], indptr[i + 1], height):
                stop = min(start + height, indptr[i + 1])
                gather(block, vector, start, stop, items, targets, features)
                add_square(matrix, block, stop - start, d)
            if factor(matrix, d, corners):
                substitute(matrix, d, corners, vector, solution)
                for c in range(d):
                    out[i, c] = solution[0, c]
        first = claim(counter, grain)


@kernel
def start_row(matrix: Any, vector: Any, gram: Any, rhs: Any, ridge: Any, scale: Any) -> None:
    """The part of the normal equations that all rows share, and this row's penalty."""
    step = BYTES // matrix.itemsize
    for p in range(matrix.shape[0]):
        for c in range(p // HEIGHT * HEIGHT // step * step, matrix.shape[1], step):
            store(matrix, p, c, load(gram, p, c))
    clear(vector)  # the padding too: nothing of the row before may be left
    for p in range(len(rhs)):
        vector[0, p] = rhs[p]
        matrix[p, p] += ridge[p] * scale


@kernel
def gather(block: Any, vector: Any, start: int, stop: int, items: Any, targets: Any, features: Any) -> None:
    """Copy the features of some entries side by side and add their share of the vector."""
    step = BYTES // features.itemsize
    for c in range(0, block.shape[1], step):
        one = load(vector, 0, c)
        for entry in range(start, stop):
            left = load(features, items[entry], c)
            store(block, entry - start, c, left)
            one = one + splat(targets[entry]) * left
        store(vector, 0, c, one)
