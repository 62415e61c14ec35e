"""Eigenvectors of a released second moment, how far they stand out of its noise, and factors from them. Public."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from discreet.kernels import one_blas_thread
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.types import Floats

__all__ = [
    "beside_diagonal",
    "click_factors",
    "leading",
    "noise_edge",
    "rating_factors",
    "seen_share",
    "signal",
]


# Below this order, or for more than a tenth of all vectors, the dense solver is as fast.
_SMALL = 500
# The noise is larger than this by far. Vectors inside its bulk, which take longest to tell apart, carry no signal.
_TOLERANCE = 1e-6
# Ratings have at least this share of their residual energy outside of any factors.
_UNEXPLAINED = 0.05


def leading(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """The ``count`` largest eigenvalues, falling, and their vectors in columns, the largest entry positive."""
    order = len(matrix)
    count = min(count, order)
    if count == 0:
        return np.zeros(0), np.zeros((order, 0))
    # These matrices are small: more threads would mostly wait for each other.
    with one_blas_thread():
        values, vectors = _solve(matrix, count)
    falling = np.argsort(-values, kind="stable")
    values, vectors = values[falling], vectors[:, falling]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(count)]
    return values, vectors * np.where(largest < 0.0, -1.0, 1.0)


def beside_diagonal(moment: Floats) -> Floats:
    """A second moment without its diagonal, which mostly holds the scatter of single ratings, popular items' above all.

    With it left in, the first eigenvectors tend to be single items with much scatter.
    """
    return moment - np.diag(np.diag(moment))


def noise_edge(sigma: float, order: int) -> float:
    """Eigenvalue that noise alone passes about once in a thousand times.

    Its eigenvalues end at `_bulk_edge`, around which the largest scatters by a Tracy-Widom number (here 3) times
    order^(-2/3) / 2 of it.
    """
    return _bulk_edge(sigma, order) * (1.0 + 1.5 * math.pow(order, -2.0 / 3.0))


def signal(values: Floats, sigma: float, order: int) -> Floats:
    """How much of each eigenvalue is signal along the vector that was found; 0 at or below the noise's edge.

    In the spiked Wigner model a signal theta shows as an eigenvalue ``theta + s^2 / theta`` where the noise ends at
    2 s, and the vector found has a squared cosine of ``1 - s^2 / theta^2`` with the true one. The product of theta
    and that cosine is ``sqrt(eigenvalue^2 - (2 s)^2)``.
    """
    end = _bulk_edge(sigma, order)
    found = np.sqrt(np.maximum(values - end, 0.0) * np.maximum(values + end, 0.0))
    return np.where(values > noise_edge(sigma, order), found, 0.0)


def seen_share(direction: Floats, usual: int) -> float:
    """Share of the first direction's squared length that a usual user's items carry, at most 1.

    The first direction mostly says how often items are rated, so the chance of item j is taken for
    ``usual |v_j| / sum |v|``. Divided by this share, what is seen on the ratings is continued over all items.
    """
    sizes = np.abs(direction)
    return min(usual * float((sizes**3).sum() / sizes.sum()), 1.0)


def rating_factors(moment: Floats, sigma: float, rank: int, popularity: ItemWeights, usual: int) -> Floats:
    """Items x at most ``rank``: eigenvectors scaled so that a user's coefficients have variance 1 under a ridge of 1.

    Parameters
    ----------
    moment, sigma
        Released sum over users of the second moment of their residuals, and the scale of its noise.
    popularity
        Released counts.
    usual
        Public guess of a user's ratings; with the counts it gives the number of users and an item's chance q_j.

    Notes
    -----
    Beside the diagonal stands the users' covariance times ``users q_j q_k``, and the scatter of what single ratings add
    to it, which counts as noise like the gate's.
    """
    order, total = len(moment), popularity.total
    users, chance = total / usual, np.minimum(usual * popularity.positive() / total, 1.0)
    energy = max(float(np.trace(moment)), sigma * math.sqrt(order))
    scatter = (energy / total) ** 2 * users * float((chance**2).sum())
    values, vectors = leading(beside_diagonal(moment), rank)
    found = signal(values, math.hypot(sigma, math.sqrt(2.0 * scatter / order)), order)
    kept = found > 0.0
    found, vectors = found[kept], vectors[:, kept]
    seen = chance @ vectors**2
    unexplained = max(energy - float((found / seen).sum()), _UNEXPLAINED * energy) / total
    factors: Floats = vectors * (np.sqrt(found / (users * unexplained)) / seen)
    return factors


def click_factors(moment: Floats, sigma: float, rank: int, gravity: float) -> Floats:
    """Items x at most ``rank``: eigenvectors scaled so that gravity times squared length is 1 for the first."""
    values, vectors = leading(beside_diagonal(moment), rank)
    found = signal(values, sigma, len(moment))
    kept = found > 0.0
    factors: Floats = vectors[:, kept] * np.sqrt(found[kept] / (gravity * found.max(initial=1e-300)))
    return factors


def _bulk_edge(sigma: float, order: int) -> float:
    """Where the noise's eigenvalues end: a symmetrised matrix has scale sigma / sqrt(2) beside the diagonal."""
    return sigma * math.sqrt(2.0 * order)


def _solve(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    order = len(matrix)
    if order > _SMALL and count * 10 < order:
        try:
            values, vectors = eigsh(
                matrix, k=count, which="LA", v0=np.ones(order), ncv=min(4 * count + 20, order), tol=_TOLERANCE
            )
        except ArpackNoConvergence:
            pass
        else:
            return values, vectors
    values, vectors = eigh(matrix, subset_by_index=(order - count, order - 1))
    return values, vectors
