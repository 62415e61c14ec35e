"""Ridge solves of all rows: one user's (or, transposed, one item's) normal equations each.

The matrix of a row is small. For its size the routines of a LAPACK spend most of their time outside the arithmetic
(measured: 80 microseconds for 128 x 128 in float32 against 10 here), so it is factored here, eight rows at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.entries import longest_first
from discreet.kernels.threads import claim, share
from discreet.kernels.tiles import (
    BYTES,
    HEIGHT,
    add_square,
    aligned,
    clear,
    load,
    padded,
    splat,
    store,
    subtract_square,
    total,
)
from discreet.types import Array, Indices

__all__ = ["solve_rows"]

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
        _pad_matrix(gram, d, width, kind),
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


def _pad_matrix(gram: Array | None, d: int, width: int, kind: np.dtype[Any]) -> Array:
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
            _start_row(
                matrix, vector, gram, rhs, ridge, row_scale[i] if row_scale.size else features.dtype.type(1)
            )
            for start in range(indptr[i], indptr[i + 1], height):
                stop = min(start + height, indptr[i + 1])
                _gather(block, vector, start, stop, items, targets, features)
                add_square(matrix, block, stop - start, d)
            if _factor(matrix, d, corners):
                _substitute(matrix, d, corners, vector, solution)
                for c in range(d):
                    out[i, c] = solution[0, c]
        first = claim(counter, grain)


@kernel
def _start_row(matrix: Any, vector: Any, gram: Any, rhs: Any, ridge: Any, scale: Any) -> None:
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
def _gather(block: Any, vector: Any, start: int, stop: int, items: Any, targets: Any, features: Any) -> None:
    """Copy the features of some entries side by side and add their share of the vector."""
    step = BYTES // features.itemsize
    for c in range(0, block.shape[1], step):
        one = load(vector, 0, c)
        for entry in range(start, stop):
            left = load(features, items[entry], c)
            store(block, entry - start, c, left)
            one = one + splat(targets[entry]) * left
        store(vector, 0, c, one)


@kernel
def _factor(U: Any, d: int, corners: Any) -> bool:
    """Upper Cholesky factor in place; `corners` (blocks of eight rows x 8 x 8) gets its diagonal blocks.

    Corners hold reciprocals on their diagonal. Gives False, with `U` spoiled, where a pivot is not positive or not a
    number.
    """
    step = BYTES // U.itemsize
    for i in range(0, d, HEIGHT):
        subtract_square(U, i, U, i)  # the finished rows from the next eight
        corner = corners[i // HEIGHT]
        if not _factor_corner(U, i, corner):
            return False
        U[i : i + HEIGHT, i // step * step : i] = 0  # in a register with what counts: it must not grow
        for c in range(i // step * step, U.shape[1], step):
            _divide(U, i, c, corner)
    return True


@kernel
def _factor_corner(U: Any, i: int, corner: Any) -> bool:
    for r in range(HEIGHT):
        for c in range(r, HEIGHT):
            corner[r, c] = U[i + r, i + c]
    for r in range(HEIGHT):
        pivot = corner[r, r]
        if not (pivot > 0 and pivot < math.inf):
            return False
        scale = 1 / np.sqrt(pivot)
        corner[r, r] = scale
        for c in range(r + 1, HEIGHT):
            corner[r, c] *= scale
        for s in range(r + 1, HEIGHT):
            for c in range(s, HEIGHT):
                corner[s, c] -= corner[r, s] * corner[r, c]
    return True


@kernel
def _divide(U: Any, i: int, c: int, t: Any) -> None:
    """Forward substitution of eight rows, one register of columns, with their corner `t`."""
    a = load(U, i, c) * splat(t[0, 0])
    b = (load(U, i + 1, c) - a * splat(t[0, 1])) * splat(t[1, 1])
    e = (load(U, i + 2, c) - a * splat(t[0, 2]) - b * splat(t[1, 2])) * splat(t[2, 2])
    f = (load(U, i + 3, c) - a * splat(t[0, 3]) - b * splat(t[1, 3]) - e * splat(t[2, 3])) * splat(t[3, 3])
    store(U, i, c, a)
    store(U, i + 1, c, b)
    store(U, i + 2, c, e)
    store(U, i + 3, c, f)
    for r in range(4, HEIGHT):
        rest = (
            load(U, i + r, c)
            - a * splat(t[0, r])
            - b * splat(t[1, r])
            - e * splat(t[2, r])
            - f * splat(t[3, r])
        )
        store(U, i + r, c, rest)
    a = load(U, i + 4, c) * splat(t[4, 4])
    b = (load(U, i + 5, c) - a * splat(t[4, 5])) * splat(t[5, 5])
    e = (load(U, i + 6, c) - a * splat(t[4, 6]) - b * splat(t[5, 6])) * splat(t[6, 6])
    f = (load(U, i + 7, c) - a * splat(t[4, 7]) - b * splat(t[5, 7]) - e * splat(t[6, 7])) * splat(t[7, 7])
    store(U, i + 4, c, a)
    store(U, i + 5, c, b)
    store(U, i + 6, c, e)
    store(U, i + 7, c, f)


@kernel
def _substitute(U: Any, d: int, corners: Any, b: Any, x: Any) -> None:
    """Solve ``U.T @ U @ x = b`` for a result of `_factor`.

    `b` and `x` are the first rows of arrays of 2 x width; all of `b` is spoiled.
    """
    step = BYTES // U.itemsize
    last = (d - 1) // HEIGHT * HEIGHT
    for i in range(0, last + 1, HEIGHT):
        _forward(U, i, corners[i // HEIGHT], b, x, step)
    for c in range(0, U.shape[1], step):
        store(b, 0, c, load(x, 0, c))
        store(x, 0, c, splat(U.dtype.type(0)))  # what is not solved yet must not count below
    for i in range(last, -1, -HEIGHT):
        _backward(U, i, corners[i // HEIGHT], b, x, step)


@kernel
def _forward(U: Any, i: int, corner: Any, b: Any, y: Any, step: int) -> None:
    """Eight numbers of ``U.T @ y = b``; `y` above them is known."""
    for j in range(i // step * step, i + HEIGHT, step):
        one = two = splat(U.dtype.type(0))
        for k in range(0, i, 2):
            one = one + splat(y[0, k]) * load(U, k, j)
            two = two + splat(y[0, k + 1]) * load(U, k + 1, j)
        # The register may reach beyond the block on both sides, so it is stored elsewhere first.
        store(b, 1, j, load(b, 0, j) - one - two)
    for r in range(HEIGHT):
        value = b[1, i + r]
        for s in range(r):
            value -= corner[s, r] * y[0, i + s]
        y[0, i + r] = value * corner[r, r]


@kernel
def _backward(U: Any, i: int, corner: Any, y: Any, x: Any, step: int) -> None:
    """Eight numbers of ``U @ x = y``; `x` below them is known and zero elsewhere."""
    j = i // step * step
    for r in range(0, HEIGHT, 4):
        p0 = p1 = p2 = p3 = splat(U.dtype.type(0))
        for c in range(j, U.shape[1], step):
            known = load(x, 0, c)
            p0 = p0 + load(U, i + r, c) * known
            p1 = p1 + load(U, i + r + 1, c) * known
            p2 = p2 + load(U, i + r + 2, c) * known
            p3 = p3 + load(U, i + r + 3, c) * known
        y[0, i + r] -= total(p0)
        y[0, i + r + 1] -= total(p1)
        y[0, i + r + 2] -= total(p2)
        y[0, i + r + 3] -= total(p3)
    for r in range(HEIGHT - 1, -1, -1):
        value = y[0, i + r]
        for s in range(r + 1, HEIGHT):
            value -= corner[r, s] * x[0, i + s]
        x[0, i + r] = value * corner[r, r]
