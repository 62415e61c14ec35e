"""Item solves from noisy statistics: to the positive semidefinite cone first, ridge afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.cholesky import factor, substitute
from discreet.kernels.compile import kernel
from discreet.kernels.lapack import eigen, eigenwork, one_blas_thread
from discreet.kernels.positive import NODES, solve_positive
from discreet.kernels.products import add_square, aligned, clear
from discreet.kernels.registers import HEIGHT, padded
from discreet.kernels.threads import claim, share
from discreet.kernels.tridiagonal import into_basis, out_of_basis, reduce
from discreet.types import Floats

__all__ = ["solve_items"]

CLOSE = 1e-6
"""A correction that leaves less than this share loses too many digits; the eigen-decomposition then does the work."""


def solve_items(H: Floats, q: Floats, ridge: Floats) -> Floats:
    """Solve ``(PSD(H_j) + diag(ridge_j)) x_j = q_j`` for every item.

    PSD is the projection to the positive semidefinite cone. Where the Cholesky factorisation of H_j succeeds it is
    there already. Where it fails and the ridge is the same for all coordinates but at most one, the solution comes
    from the tridiagonal form (`discreet.kernels.positive`); for any other ridge from an eigen-decomposition.

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
    A = aligned(width, width, q)
    corners = np.empty((width // HEIGHT, HEIGHT, HEIGHT))
    dense = aligned(width, width, q), corners, aligned(2, width, q), aligned(2, width, q)
    regular = np.zeros((6, width)), np.zeros((4, width)), np.zeros((4, d * NODES))
    lapack = eigenwork(d)
    first = claim(counter, grain)
    while first < m:
        for j in range(first, min(first + grain, m)):
            if not _finite(H[j], q[j]):
                for p in range(d):
                    out[j, p] = np.nan
                continue
            _fill(A, H[j], 0)
            if factor(A, d, corners):
                _fill(A, H[j], 0)
                _solve_definite(A, q[j], ridges[j], out[j], dense)
            elif not _solve_regular(A, H[j], q[j], ridges[j], out[j], regular):
                _project(A, H[j], dense[0], lapack)
                _solve_definite(A, q[j], ridges[j], out[j], dense)
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
def _fill(A: Any, H: Any, lead: int) -> None:
    """Both triangles of H, coordinate `lead` exchanged with the first; ones on the diagonal of the padding."""
    d = len(H)
    clear(A)
    for p in range(d, len(A)):
        A[p, p] = 1
    for p in range(d):
        for c in range(p, d):
            A[p, c] = H[p, c]
            A[c, p] = H[p, c]
    if lead:
        for c in range(d):
            A[0, c], A[lead, c] = A[lead, c], A[0, c]
        for p in range(d):
            A[p, 0], A[p, lead] = A[p, lead], A[p, 0]


@kernel
def _solve_definite(A: Any, q: Any, ridge: Any, out: Any, dense: Any) -> None:
    """Solve with a matrix that is positive semidefinite already; zeros if it is singular with its ridge."""
    d = len(q)
    _, corners, b, x = dense
    clear(b)
    for p in range(d):
        b[0, p] = q[p]
        A[p, p] += ridge[p]
    if factor(A, d, corners):
        substitute(A, d, corners, b, x)
        for p in range(d):
            out[p] = x[0, p]


@kernel
def _common(ridge: Any) -> Any:
    """The value all coordinates share but one, and which one that is (0 if none); NaN if there is no such value."""
    d = len(ridge)
    value = ridge[d - 1]
    if d > 2 and ridge[0] != value and ridge[0] == ridge[1]:
        value = ridge[0]
    lead = others = 0
    for p in range(d):
        if ridge[p] != value:
            lead = p
            others += 1
    return (value if others <= 1 and value > 0 else np.nan), lead


@kernel
def _solve_regular(A: Any, H: Any, q: Any, ridge: Any, out: Any, regular: Any) -> bool:
    """Solve for a ridge ``r I + e e_lead e_lead^T``: with r alone by `solve_positive`, then the rank-one formula.

    Gives False if the ridge is not like this, or if the formula would lose too many digits.
    """
    d = len(ridge)
    r, lead = _common(ridge)
    if np.isnan(r):
        return False
    vectors, sweep, nodes = regular
    diagonal, beside, tau = vectors[0], vectors[1], vectors[2]
    b, y, z = vectors[3, :d], vectors[4, :d], vectors[5, :d]
    _fill(A, H, lead)
    for p in range(d):
        b[p] = q[p]
    b[0], b[lead] = b[lead], b[0]
    reduce(A, d, diagonal, beside, tau, sweep)
    into_basis(A, d, tau, b)
    # The basis keeps the first coordinate, so the unit vector needs no change of basis.
    solve_positive(diagonal, beside, r, b, y, z, nodes)
    extra = ridge[lead] - r
    left = 1 + extra * z[0]
    if not left > CLOSE:
        return False
    pull = extra * y[0] / left
    for p in range(d):
        out[p] = y[p] - pull * z[p]
    out_of_basis(A, d, tau, out)
    out[0], out[lead] = out[lead], out[0]
    return True


@kernel
def _project(A: Any, H: Any, rows: Any, lapack: Any) -> None:
    """The projection of H itself, rebuilt from its positive eigenvalues."""
    d = len(H)
    work, integers, scalars = lapack
    vectors, values = H.copy(), np.empty(d)
    if not eigen(vectors, values, work, integers, scalars):
        values[:] = np.nan  # no factor, hence zeros
    positive = 0
    for k in range(d):
        if not values[k] <= 0:
            root = np.sqrt(values[k])
            for c in range(d):
                rows[positive, c] = root * vectors[k, c]
            positive += 1
    clear(A)
    for p in range(d, len(A)):
        A[p, p] = 1
    add_square(A, rows, positive, d)
