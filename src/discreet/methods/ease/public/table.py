"""From the denoised matrix of pairs to a table of weights: EASE, a formula. Public.

EASE (Steck 2019) predicts each item of a person from all others and a constant, by least squares under a ridge:

    P = (G + ridge - d d' / 4s)^-1,  s = d' (G + ridge)^-1 d,   B = -P / diag(P) column by column, zero on its diagonal
    base = (d - d B) / 4s,                                       score = base + x B

The ridge of an item is the mean of the diagonal plus half of its own entry, as if a third of everybody's items had been
left out at random (EDLAE, Steck 2020). The constant is what is expected of somebody of whom nothing is known: where the
ridge is large, a list is popularity. s / n is how much of the constant the items themselves explain, n its own entry of
the matrix; n is not released, and a quarter is taken for the share. Scores are divided by count^0.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from discreet.types import Floats, Singles

__all__ = ["DROPOUT", "EXPLAINED", "EXPONENT", "Judged", "Weights", "ease", "judged", "ridge"]

DROPOUT = 1.0 / 3.0
EXPLAINED = 0.25
"""Share of the constant that the items are taken to explain."""
EXPONENT = -0.15


class Weights(NamedTuple):
    """``pairs[i, j]`` is what item i adds to item j, ``base[j]`` what j has; items beyond, ``scale`` times a mass."""

    pairs: Singles
    base: Floats
    scale: float


def ease(pairs: Singles, diagonal: Floats, mass: Floats, multiple: float = 1.0) -> Weights:
    """Weights from a matrix of pairs, its diagonal, and the masses of the items, at a multiple of the ridge.

    Where noise has left the matrix indefinite under the ridge, it is doubled until it is not. `pairs` is overwritten.
    """
    held = ridge(diagonal, float(diagonal.mean()))
    matrix, failed = pairs, True
    while failed:
        matrix[np.diag_indices_from(matrix)] = diagonal + multiple * held
        # The lower triangle of a C array is the upper of the Fortran array that LAPACK sees without a copy.
        factor, failed = scipy.linalg.lapack.spotrf(matrix.T, lower=False, overwrite_a=True, clean=False)
        if failed:
            matrix[:] = np.triu(matrix, 1)  # the other triangle is as it was
            matrix += matrix.T.copy()
            multiple *= 2.0
    inverse, _ = scipy.linalg.lapack.spotri(factor, lower=False, overwrite_c=True)
    along = scipy.linalg.blas.ssymv(1.0, inverse, mass.astype(np.float32), lower=False)
    whole_constant = float(mass @ along) / EXPLAINED
    scale = 0.0
    if whole_constant > 0.0:
        scale = 1.0 / whole_constant
        gained = scale / (1.0 - EXPLAINED)
        inverse = scipy.linalg.blas.ssyr(gained, along, lower=False, a=inverse, overwrite_a=True)
    column = -1.0 / np.diagonal(inverse).copy()
    weights = np.triu(inverse, 1)
    weights += weights.T
    weights *= column
    base = scale * (mass - mass.astype(np.float32) @ weights)
    return Weights(np.ascontiguousarray(weights), base, scale)


def ridge(diagonal: Floats, mean: float) -> Floats:
    """Of each item: the mean of the head's diagonal and half of its own entry."""
    held: Floats = mean + DROPOUT / (1.0 - DROPOUT) * diagonal
    return held


class Judged(NamedTuple):
    """What weights explain, judged by other noise: at a scale c squares fall by ``2 c linear - c^2 square``.

    Parameters
    ----------
    linear, square
        The parts, each item counting by the root of how often it is taken.
    spread
        Deviation of the linear part, by the noise.
    """

    linear: float
    square: float
    spread: float

    @classmethod
    def mean(cls, several: Sequence[Judged]) -> Judged:
        """Of several splits of the same noise: any two are correlated by a half at most."""
        linear, square, spread = (math.fsum(parts) / len(several) for parts in zip(*several, strict=True))
        return cls(linear, square, spread * math.sqrt((len(several) + 1) / (2 * len(several))))

    @property
    def deviations(self) -> float:
        """How sure it is that the weights say anything. Weights that are all zero explain nothing, and that is sure."""
        return self.linear / self.spread if self.spread > 0.0 else 0.0

    @property
    def gain(self) -> float:
        """Squares explained at the best scale c: lists do not depend on it."""
        return max(self.linear, 0.0) ** 2 / self.square if self.square > 0.0 else 0.0


def judged(weights: Singles, judge: Singles, diagonal: Floats, variance: float) -> Judged:
    """How well weights predict, judged by a matrix whose noise they have not seen.

    With B the weights, H the judge and d the diagonal, predicting item j from the others at a scale c has the squared
    error d_j - 2 c (H B)_jj + c^2 (B' H B)_jj. Both parts are linear in H, and the noise of H does not depend on B, so
    each comes out right on the average.
    """
    roots = np.sqrt(diagonal)
    linear = float((_column_products(judge, weights) / roots).sum())
    square = _column_products(weights, judge @ weights)
    square += diagonal.astype(np.float32) @ np.square(weights)
    scaled = weights / roots.astype(np.float32)
    spread = math.sqrt(variance * float(np.square(scaled + scaled.T).sum(dtype=np.float64)) / 2.0)
    return Judged(linear, float((square / roots).sum()), spread)


def _column_products(one: Singles, other: Singles) -> Floats:
    """Of each column with the same column."""
    products: Floats = (one * other).sum(axis=0, dtype=np.float64)
    return products
