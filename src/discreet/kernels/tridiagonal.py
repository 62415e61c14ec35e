"""Reduction of a symmetric matrix to tridiagonal form, and the change of basis that goes with it.

``H = Q T Q^T`` by Householder reflections (Golub and Van Loan, Matrix Computations, 8.3.1) with the rank-two change of
one step delayed into the next step's product, so that the matrix is read once a step, not three times. Q leaves the
first coordinate alone, which the caller uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.compile import kernel
from discreet.kernels.lanes import load, splat, store, total
from discreet.kernels.products import clear
from discreet.kernels.registers import HEIGHT, lanes

__all__ = ["into_basis", "out_of_basis", "reduce"]

_LANES = lanes("float64")
_ROWS = 4
"""Rows that go through registers together."""


@kernel
def reduce(A: Any, d: int, diagonal: Any, beside: Any, tau: Any, work: Any) -> None:
    """Reduce ``A[:d, :d]`` (padded, blocks on the diagonal full) in place.

    Fills `diagonal` (d) and `beside` (d - 1); row k of A keeps reflector k right of the diagonal and `tau` its factor.
    `work` is 4 x width.
    """
    v, w, x, p = work[0], work[1], work[2], work[3]
    clear(work)
    for k in range(d):
        v_k, w_k = v[k], w[k]
        for c in range(k, d):
            A[k, c] -= v_k * w[c] + w_k * v[c]
        # Zeros make rows that are done pass through the blocks below unchanged.
        v[k] = w[k] = x[k] = 0
        diagonal[k] = A[k, k]
        if k == d - 1:
            break
        beside[k], tau[k] = _reflect(A, k, d, x)
        for c in range(k, len(p)):
            p[c] = 0
        for i in range((k + 1) // _ROWS * _ROWS, d, _ROWS):
            _sweep(A, i, work)
        along = 0.0
        for c in range(k + 1, d):
            along += p[c] * x[c]
        along *= -0.5 * tau[k] * tau[k]
        for c in range(k + 1, d):
            w[c] = tau[k] * p[c] + along * x[c]
            v[c] = x[c]


@kernel
def _sweep(A: Any, i: int, work: Any) -> None:
    """One pass over four rows: change by rank two, multiply by x on the way.

    ``A[i, c] -= v[i] w[c] + w[i] v[c]``, then ``p[i] += A[i, c] x[c]`` and, right of the block on the diagonal, where
    the mirror image is not stored, ``p[c] += A[i, c] x[i]``.
    """
    v0, v1, v2, v3 = (
        splat(-work[0, i]),
        splat(-work[0, i + 1]),
        splat(-work[0, i + 2]),
        splat(-work[0, i + 3]),
    )
    w0, w1, w2, w3 = (
        splat(-work[1, i]),
        splat(-work[1, i + 1]),
        splat(-work[1, i + 2]),
        splat(-work[1, i + 3]),
    )
    x0, x1, x2, x3 = splat(work[2, i]), splat(work[2, i + 1]), splat(work[2, i + 2]), splat(work[2, i + 3])
    p0 = p1 = p2 = p3 = splat(0.0)
    border = i // HEIGHT * HEIGHT + HEIGHT
    for c in range(border - HEIGHT, A.shape[1], _LANES):
        v, w, x = load(work, 0, c), load(work, 1, c), load(work, 2, c)
        a0 = load(A, i, c) + v0 * w + w0 * v
        a1 = load(A, i + 1, c) + v1 * w + w1 * v
        a2 = load(A, i + 2, c) + v2 * w + w2 * v
        a3 = load(A, i + 3, c) + v3 * w + w3 * v
        store(A, i, c, a0)
        store(A, i + 1, c, a1)
        store(A, i + 2, c, a2)
        store(A, i + 3, c, a3)
        p0 = p0 + a0 * x
        p1 = p1 + a1 * x
        p2 = p2 + a2 * x
        p3 = p3 + a3 * x
        if c >= border:
            store(work, 3, c, load(work, 3, c) + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3)
    work[3, i] += total(p0)
    work[3, i + 1] += total(p1)
    work[3, i + 2] += total(p2)
    work[3, i + 3] += total(p3)


@kernel
def _reflect(A: Any, k: int, d: int, x: Any) -> Any:
    """Reflector that leaves one number right of the diagonal of row k; also written to `x`."""
    lead, rest = A[k, k + 1], 0.0
    for c in range(k + 2, d):
        rest += A[k, c] * A[k, c]
    left, factor, scale = lead, 0.0, 0.0
    if rest != 0:
        left = -np.copysign(np.sqrt(lead * lead + rest), lead)
        factor, scale = (left - lead) / left, 1 / (lead - left)
    for c in range(k + 2, d):
        x[c] = A[k, c] * scale
        A[k, c] = x[c]
    x[k + 1] = A[k, k + 1] = 1
    return left, factor


@kernel
def _apply(A: Any, k: int, d: int, factor: float, b: Any) -> None:
    along = 0.0
    for c in range(k + 1, d):
        along += A[k, c] * b[c]
    along *= factor
    for c in range(k + 1, d):
        b[c] -= along * A[k, c]


@kernel
def into_basis(A: Any, d: int, tau: Any, b: Any) -> None:
    """``b = Q^T b`` for a reduced A."""
    for k in range(d - 1):
        _apply(A, k, d, tau[k], b)


@kernel
def out_of_basis(A: Any, d: int, tau: Any, b: Any) -> None:
    """``b = Q b`` for a reduced A."""
    for k in range(d - 2, -1, -1):
        _apply(A, k, d, tau[k], b)
