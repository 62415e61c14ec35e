"""Ridge solves of all rows where a row has an offset too, free of penalty, beside its coefficients.

An offset is the coefficient of a feature that is 1 everywhere. Written as one more column of `features` it would cost
a whole register wherever the others fill theirs. It is taken out of the equations instead, as a factorisation that
has it in front would do first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.cholesky import factor, substitute
from discreet.kernels.compile import kernel
from discreet.kernels.lanes import load, splat, store
from discreet.kernels.products import add_square, aligned, subtract_square
from discreet.kernels.registers import BYTES, HEIGHT, padded
from discreet.kernels.rows import BLOCK_BYTES, gather, pad_matrix, start_row
from discreet.kernels.threads import claim, share
from discreet.kernels.transpose import longest_first
from discreet.types import Array, Indices

__all__ = ["solve_offset_rows"]


def solve_offset_rows(
    indptr: Indices,
    items: Indices,
    targets: Array,
    features: Array,
    ridge: Array,
    row_scale: Array,
    gravity: float,
) -> tuple[Array, Array]:
    """Offset and coefficients of every row of a sparse matrix, where all items count weakly as zeros.

    Row i, with entries j, gives the b and x that minimise

        sum_j (t_ij - b - f_j . x)^2 + gravity sum_all (b + f . x)^2 + row_scale_i x . diag(ridge) x

    Parameters
    ----------
    indptr, items
        The entries of each row (compressed sparse rows); an item may be any row of `features`.
    targets
        t, one for each entry.
    features
        f, items x d. float32 or float64: the arithmetic and the result have this dtype.
    ridge
        Penalty of each coefficient, length d.
    row_scale
        Factor of each row's penalty.
    gravity
        Weight of every item as a zero.

    Returns
    -------
    offsets, coefficients
        Rows, and rows x d. A row whose matrix is not positive definite has no solution and is given zeros.
        A row's result depends on nothing but that row, not on the number of threads either.
    """
    kind = features.dtype
    n, (m, d) = len(indptr) - 1, features.shape
    check_rows(indptr, items, m)
    check_shapes(targets=(targets, items.shape), ridge=(ridge, (d,)), row_scale=(row_scale, (n,)))
    offsets, out = np.zeros(n, kind), np.zeros((n, d), kind)
    width = padded(max(d, 1), kind)
    # About their mean: what all features share is the offset's, and would cost the coefficients their digits.
    ones = np.ones(m, kind)
    mean = ones @ features / max(m, 1)
    about: Array = aligned(m, width, features)
    np.subtract(features, mean, out=about[:, :d])
    share(
        _solve_offset_rows,
        n,
        float(indptr[-1]) * d * d / 2 + n * d**3 / 6,
        longest_first(indptr),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(targets, kind),
        about,
        np.ascontiguousarray(ridge, kind),
        np.ascontiguousarray(row_scale, kind),
        pad_matrix(gravity * (about.T @ about)[:d, :d], d, width, kind),
        np.ascontiguousarray(gravity * (ones @ about), kind),
        float(gravity * m),
        max(BLOCK_BYTES // (width * kind.itemsize), 8),
        offsets,
        out,
    )
    return offsets - out @ mean, out


@kernel
def _solve_offset_rows(
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
    sum_of_all: Any,
    weight_of_all: float,
    height: int,
    offsets: Any,
    out: Any,
) -> None:
    n, d = out.shape
    width = gram.shape[0]
    filled = max(d, 1)  # without a feature the padding is solved: its matrix is 1, its vector 0
    block, matrix = aligned(height, width, features), aligned(width, width, features)
    vector, solution = aligned(2, width, features), aligned(2, width, features)
    sums, ahead = aligned(1, width, features), aligned(1, width, features)
    corners = np.empty((width // HEIGHT, HEIGHT, HEIGHT), features.dtype)
    nothing = np.zeros(d, features.dtype)
    first = claim(counter, grain)
    while first < n:
        for place in range(first, min(first + grain, n)):
            i = order[place]
            start_row(matrix, vector, gram, nothing, ridge, row_scale[i])
            for c in range(width):
                sums[0, c] = sum_of_all[c]
            total = 0.0
            for start in range(indptr[i], indptr[i + 1], height):
                stop = min(start + height, indptr[i + 1])
                gather(block, vector, start, stop, items, targets, features)
                add_square(matrix, block, stop - start, d)
                _add_rows(sums, block, stop - start)
                for entry in range(start, stop):
                    total += targets[entry]
            weight = weight_of_all + (indptr[i + 1] - indptr[i])
            _eliminate(matrix, vector, sums, ahead, total, weight, d)
            if weight > 0 and factor(matrix, filled, corners):
                substitute(matrix, filled, corners, vector, solution)
                for c in range(d):
                    out[i, c] = solution[0, c]
                    total -= sums[0, c] * solution[0, c]
                offsets[i] = total / weight
        first = claim(counter, grain)


@kernel
def _add_rows(sums: Any, block: Any, count: int) -> None:
    """Add the gathered features themselves."""
    step = BYTES // block.itemsize
    for c in range(0, block.shape[1], step):
        even = odd = splat(block.dtype.type(0))  # two sums: neither waits for the other
        for k in range(0, count - 1, 2):
            even = even + load(block, k, c)
            odd = odd + load(block, k + 1, c)
        if count % 2:
            even = even + load(block, count - 1, c)
        store(sums, 0, c, load(sums, 0, c) + even + odd)


@kernel
def _eliminate(matrix: Any, vector: Any, sums: Any, ahead: Any, total: float, weight: float, d: int) -> None:
    """Take the offset, whose equation is ``weight b + sums . x = total``, out of the others.

    `ahead` gets its row of the factor.
    """
    step = BYTES // matrix.itemsize
    mean, root = splat(matrix.dtype.type(total / weight)), splat(matrix.dtype.type(1 / np.sqrt(weight)))
    for c in range(0, matrix.shape[1], step):
        own = load(sums, 0, c)
        store(vector, 0, c, load(vector, 0, c) - mean * own)
        store(ahead, 0, c, root * own)
    for i in range(0, d, HEIGHT):
        subtract_square(matrix, i, ahead, 1)
