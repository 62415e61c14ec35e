"""Item solves from noisy statistics: to the positive semidefinite cone first, ridge afterwards."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.kernels.checks import check_shapes
from discreet.kernels.threads import by_rows, one_blas_thread
from discreet.types import Floats

__all__ = ["solve_items"]


def solve_items(H: Floats, q: Floats, ridge: Floats) -> Floats:
    """Solve ``(PSD(H_j) + diag(ridge_j)) x_j = q_j`` for every item.

    PSD is the projection to the positive semidefinite cone, by eigenvalues. Where the Cholesky factorisation of H_j
    succeeds it is there already.

    Parameters
    ----------
    H
        float64, items x d x d, symmetric.
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
    out = np.full((m, d), np.nan)
    ridges = np.broadcast_to(np.asarray(ridge, np.float64), (m, d))

    def some(items: slice) -> None:
        for j in range(*items.indices(m)):
            if np.isfinite(H[j]).all() and np.isfinite(q[j]).all():
                out[j] = _solved(_projected(H[j]) + np.diag(ridges[j]), q[j])

    with one_blas_thread():
        by_rows(some, m, least=32)
    return out


def _projected(matrix: Floats) -> Floats:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        projected: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return projected
    return matrix


def _solved(matrix: Floats, vector: Floats) -> Floats:
    try:
        solution: Floats = cho_solve(cho_factor(matrix, check_finite=False), vector, check_finite=False)
    except np.linalg.LinAlgError:
        return np.zeros_like(vector)
    return solution
