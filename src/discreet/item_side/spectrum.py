"""Leading eigenvectors of a released second moment, and how far they stand out of its noise. Public."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

__all__ = ["leading", "noise_edge", "signal"]

Floats = npt.NDArray[np.float64]

# Below this order, or for more than a tenth of all vectors, the dense solver is as fast.
_SMALL = 500


def leading(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """The ``count`` largest eigenvalues, falling, and their vectors in columns; signs are fixed by the vectors."""
    order = len(matrix)
    count = min(count, order)
    if order > _SMALL and count * 10 < order:
        try:
            values, vectors = eigsh(matrix, k=count, which="LA", v0=np.ones(order))
        except ArpackNoConvergence:
            values, vectors = _dense(matrix, count)
    else:
        values, vectors = _dense(matrix, count)
    falling = np.argsort(-values, kind="stable")
    values, vectors = values[falling], vectors[:, falling]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(count)]
    return values, vectors * np.where(largest < 0.0, -1.0, 1.0)


def noise_edge(sigma: float, order: int) -> float:
    """Largest eigenvalue of the noise alone: a symmetrised matrix has scale sigma / sqrt(2) beside the diagonal."""
    return sigma * math.sqrt(2.0 * order)


def signal(values: Floats, sigma: float, order: int) -> Floats:
    """How much of each eigenvalue is signal along the vector that was found; 0 at or below the noise's edge.

    In the spiked Wigner model a signal theta shows as an eigenvalue ``theta + s^2 / theta`` where the noise ends at
    2 s, and the vector found has a squared cosine of ``1 - s^2 / theta^2`` with the true one. The product of theta
    and that cosine is ``sqrt(eigenvalue^2 - (2 s)^2)``.
    """
    edge = noise_edge(sigma, order)
    return np.sqrt(np.maximum(values - edge, 0.0) * np.maximum(values + edge, 0.0))


def _dense(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    order = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(order - count, order - 1))
    return values, vectors
