"""From the denoised matrix of pairs to a table of weights: EASE, a formula. Public.

EASE (Steck 2019) predicts each item of a person from all others and a constant, by least squares under a ridge:

    P = (G + ridge - d d' / 4s)^-1,  s = d' (G + ridge)^-1 d,   B = -P / diag(P) column by column, zero on its diagonal
    score = d / 16s + x B

The ridge of an item is the mean of the diagonal plus half of its own entry, as if a third of everybody's items had been
left out at random (EDLAE, Steck 2020). s / n is how much of the constant the items themselves explain, n its own entry
of the matrix; n is not released, and a quarter is taken for the share. Scores are divided by count^0.15.

From the constant, d / 4s, least squares would take d B / 4s, which is nearly all of it: right for a history of the
usual length, and below popularity for a short one. For everybody alike a quarter of it is left, so who has said nothing
gets popularity, and so does everybody where the ridge is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from discreet.methods.ease.public.head import DEVIATIONS
from discreet.types import Floats, Singles

__all__ = ["DROPOUT", "EXPLAINED", "EXPONENT", "LEFT", "Judged", "Weights", "ease", "judged", "ridge"]

DROPOUT = 1.0 / 3.0
EXPLAINED = 0.25
"""Share of the constant that the items are taken to explain."""
LEFT = 0.25
"""Share of the constant that is left beside what a history adds."""
EXPONENT = -0.15


class Weights(NamedTuple):
    """``pairs[i, j]`` is what item i adds to item j; ``scale`` times its mass is what an item has without a history."""

    pairs: Singles
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
    return Weights(np.ascontiguousarray(weights), LEFT * scale)


def ridge(diagonal: Floats, mean: float) -> Floats:
    """Of each item: the mean of the head's diagonal and half of its own entry."""
    held: Floats = mean + DROPOUT / (1.0 - DROPOUT) * diagonal
    return held


class Judged(NamedTuple):
    """What several weights explain, judged by other noise: at a scale c squares fall by ``2 c linear - c^2 square``.

    Parameters
    ----------
    linear, square
        The parts, for each of the weights; each item counts by the root of how often it is taken.
    spread
        Deviation of each linear part, by the noise.
    apart
        Deviation, by the noise, of how much more one explains than another.
    """

    linear: Floats
    square: Floats
    spread: Floats
    apart: Floats

    @classmethod
    def mean(cls, several: Sequence[Judged]) -> Judged:
        """Of several splits of the same noise: any two are correlated by a half at most."""
        linear, square, *deviations = (np.mean(parts, axis=0) for parts in zip(*several, strict=True))
        less = math.sqrt((len(several) + 1) / (2 * len(several)))
        return cls(linear, square, *(less * one for one in deviations))

    @property
    def deviations(self) -> Floats:
        """How sure it is that weights say anything. Weights that are all zero explain nothing, and that is sure."""
        return _ratio(self.linear, self.spread)

    @property
    def gains(self) -> Floats:
        """Squares explained at the best scale c: lists do not depend on it."""
        return _ratio(np.maximum(self.linear, 0.0) ** 2, self.square)

    @property
    def chosen(self) -> int | None:
        """Of weights at rising ridges those that explain most; ``None`` where nothing stands out of the noise.

        What the noise cannot tell from the best is as good, and of these the largest ridge is the nearest to
        popularity.
        """
        sure = self.deviations > DEVIATIONS
        if not sure.any():
            return None
        best = int(np.argmax(np.where(sure, self.gains, -1.0)))
        (close,) = np.nonzero(sure & (self.gains[best] - self.gains <= DEVIATIONS * self.apart[best]))
        return int(close[-1])


def judged(several: Sequence[Singles], judge: Singles, diagonal: Floats, variance: float) -> Judged:
    """How well weights predict, judged by a matrix whose noise they have not seen.

    With B the weights, H the judge and d the diagonal, predicting item j from the others at a scale c has the squared
    error d_j - 2 c (H B)_jj + c^2 (B' H B)_jj. Both parts are linear in H, and the noise of H does not depend on B, so
    each comes out right on the average; and so the noise of a difference is known.
    """
    roots, effects = np.sqrt(diagonal).astype(np.float32), []
    parts = np.zeros((3, len(several)))
    for place, weights in enumerate(several):
        scaled: Singles = weights / roots
        both: Singles = scaled @ weights.T
        line = _total(judge * scaled)
        curve = _total(judge * both) + float(diagonal @ (np.square(scaled) @ roots))
        parts[:, place] = line, curve, _deviation(scaled, variance)
        scale = max(line, 0.0) / curve if curve > 0.0 else 0.0
        if len(several) > 1:
            effect: Singles = np.float32(2.0 * scale) * scaled - np.float32(scale * scale) * both
            effects.append(effect)
    apart = [[_deviation(one - other, variance) for other in effects] for one in effects]
    linear, square, spread = parts
    return Judged(linear, square, spread, np.array(apart) if effects else np.zeros((1, 1)))


def _deviation(read: Singles, variance: float) -> float:
    """Of a sum that takes so much of each entry of a symmetric matrix, whose diagonal has no noise."""
    both = np.square(read + read.T)
    np.fill_diagonal(both, 0.0)
    return math.sqrt(variance * _total(both) / 2.0)


def _total(entries: Singles) -> float:
    return float(entries.sum(dtype=np.float64))


def _ratio(above: Floats, below: Floats) -> Floats:
    found: Floats = np.divide(above, below, out=np.zeros(len(above)), where=below > 0.0)
    return found
