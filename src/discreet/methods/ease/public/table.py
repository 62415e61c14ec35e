"""From the denoised matrix of pairs to a table of weights: EASE, a formula. Public.

EASE (Steck 2019) predicts each item of a person from all others, by least squares under a ridge:

    P = (G + ridge)^-1,   B = -P / diag(P) column by column, zero on its diagonal;   score = x B

The ridge of an item is the mean of the diagonal plus half of its own entry, as if a third of everybody's items had been
left out at random (EDLAE, Steck 2020). Scores are divided by count^0.15.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from discreet.types import Floats, Singles

__all__ = ["DROPOUT", "EXPONENT", "Explained", "ease", "squares_explained"]

DROPOUT = 1.0 / 3.0
EXPONENT = -0.15


def ease(pairs: Singles, diagonal: Floats, multiple: float = 1.0) -> Singles:
    """Weights from a matrix of pairs and its diagonal; ``weights[i, j]`` is what item i adds to item j.

    `multiple` of the ridge; where noise has left the matrix indefinite under it, twice as much until it is not. `pairs`
    is overwritten.
    """
    ridge = diagonal.mean() + DROPOUT / (1.0 - DROPOUT) * diagonal
    matrix, failed = pairs, True
    while failed:
        matrix[np.diag_indices_from(matrix)] = diagonal + multiple * ridge
        # The lower triangle of a C array is the upper of the Fortran array that LAPACK sees without a copy.
        factor, failed = scipy.linalg.lapack.spotrf(matrix.T, lower=False, overwrite_a=True, clean=False)
        if failed:
            matrix[:] = np.triu(matrix, 1)  # the other triangle is as it was
            matrix += matrix.T.copy()
            multiple *= 2.0
    inverse, _ = scipy.linalg.lapack.spotri(factor, lower=False, overwrite_c=True)
    scale = -1.0 / np.diagonal(inverse).copy()
    whole = np.triu(inverse, 1)
    whole += whole.T
    whole *= scale
    return np.ascontiguousarray(whole)


class Explained(NamedTuple):
    """How well weights predict on other noise: squares they take off, and how sure it is that they say anything."""

    gain: float
    deviations: float


def squares_explained(weights: Singles, judge: Singles, diagonal: Floats, variance: float) -> Explained:
    """Squares that weights explain of what each item is, judged by a matrix whose noise they have not seen.

    With B the weights, H the judge and d the diagonal, the squared error of predicting item j from the others is
    d_j - 2 (H B)_jj + (B' H B)_jj; divided by d_j each item counts alike. It is linear in H, and the noise of H does
    not depend on B, so what comes out is right on the average.
    """
    linear = float((_column_products(judge, weights) / diagonal).sum())
    square = _column_products(weights, judge @ weights)
    square += diagonal.astype(np.float32) @ np.square(weights)
    whole = float((square / diagonal).sum())
    scaled = weights / diagonal.astype(np.float32)
    spread = float(np.sqrt(variance * np.square(scaled + scaled.T).sum(dtype=np.float64) / 2.0))
    # Weights that are all zero explain nothing, and that is sure.
    return Explained(2.0 * linear - whole, linear / spread if spread > 0.0 else 0.0)


def _column_products(one: Singles, other: Singles) -> Floats:
    """Of each column with the same column."""
    products: Floats = (one * other).sum(axis=0, dtype=np.float64)
    return products
