"""Item solves from noisy statistics: to the positive semidefinite cone first, ridge afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.cholesky import factor, substitute
from discreet.kernels.compile import kernel
from discreet.kernels.products import add_square, aligned, clear
from discreet.kernels.registers import HEIGHT, padded
from discreet.kernels.threads import claim, one_blas_thread, share
from discreet.types import Floats

__all__ = ["solve_items"]


def solve_items(H: Floats, q: Floats, ridge: Floats) -> Floats:
    """Solve ``(PSD(H_j) + diag(ridge_j)) x_j = q_j`` for every item.

    PSD is the projection to the positive semidefinite cone, by eigenvalues. Where the Cholesky factorisation of H_j
    succeeds it is there already.

    Parameters
    ----------
    H
        float64, items x d x d, symmetric (the upper triangle is read).
    q
        float64, items x d.
    ridge
        float64, d or items x d, not negative.

    Returns
    -------
    float64, items x d
        Zeros for an item whose matrix is singular even with its ridge; NaN where H or q is not finite.
    """
    m, d = q.shape
    check_shapes(H=(H, (m, d, d)))
    out = np.zeros((m, d))
    ridges = np.ascontiguousarray(np.broadcast_to(np.asarray(ridge, np.float64), (m, d)))
    if not out.size:
        return out
    with one_blas_thread():
        share(
            _solve_items,
            m,
            m * d**3 * 2.0,
            np.ascontiguousarray(H, np.float64),
            np.ascontiguousarray(q, np.float64),
            ridges,
            padded(d, np.float64),
            out,
        )
    return out


@kernel
def _solve_items(counter: Any, grain: int, H: Any, q: Any, ridges: Any, width: int, out: Any) -> None:
    m, d = q.shape
    A, rows = aligned(width, width, q), aligned(width, width, q)
    corners = np.empty((width // HEIGHT, HEIGHT, HEIGHT))
    b, x = aligned(2, width, q), aligned(2, width, q)
    first = claim(counter, grain)
    while first < m:
        for j in range(first, min(first + grain, m)):
            if not _finite(H[j], q[j]):
                for p in range(d):
                    out[j, p] = np.nan
                continue
            _fill(A, H[j])
            if factor(A, d, corners):
                _fill(A, H[j])
            else:
                _fill(A, H[j])
                _project(A, rows, d)
            _solve_definite(A, q[j], ridges[j], out[j], corners, b, x)
        first = claim(counter, grain)


@kernel
def _finite(matrix: Any, vector: Any) -> bool:
    size = 0.0
    for p in range(len(vector)):
        size += abs(vector[p])
        for c in range(p, len(vector)):
            size += abs(matrix[p, c])
    return bool(np.isfinite(size))


@kernel
def _fill(A: Any, H: Any) -> None:
    """Both triangles of H; ones on the diagonal of the padding."""
    d = len(H)
    clear(A)
    for p in range(d, len(A)):
        A[p, p] = 1
    for p in range(d):
        for c in range(p, d):
            A[p, c] = H[p, c]
            A[c, p] = H[p, c]


@kernel
def _solve_definite(A: Any, q: Any, ridge: Any, out: Any, corners: Any, b: Any, x: Any) -> None:
    """Solve with a matrix that is positive semidefinite already; zeros if it is singular with its ridge."""
    d = len(q)
    clear(b)
    for p in range(d):
        b[0, p] = q[p]
        A[p, p] += ridge[p]
    if factor(A, d, corners):
        substitute(A, d, corners, b, x)
        for p in range(d):
            out[p] = x[0, p]


@kernel
def _project(A: Any, rows: Any, d: int) -> None:
    """The projection in place, rebuilt from the positive eigenvalues."""
    values, vectors = np.linalg.eigh(A[:d, :d].copy())
    positive = 0
    for k in range(d):
        if values[k] > 0:
            root = np.sqrt(values[k])
            for c in range(d):
                rows[positive, c] = root * vectors[c, k]
            positive += 1
    for p in range(d):
        for c in range(d):
            A[p, c] = 0
    add_square(A, rows, positive, d)
