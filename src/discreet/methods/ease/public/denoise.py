"""A noisy symmetric matrix, denoised by its known noise. Public: sees a release and the size of its noise.

Model: H = G + E, E symmetric with independent Gaussian entries of variance v. Of all estimates that keep the
eigenvectors of H the best replaces its eigenvalue y by ``y - 2 s^2 Re g(y)``, s^2 = M v, where g is the Stieltjes
transform of the eigenvalues: their own mean of 1 / (y - y_j), read off beside the real line (Bun, Allez, Bouchaud and
Potters 2016). It needs no rank and keeps what lies inside the bulk of the noise.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from discreet.types import Floats, Singles

__all__ = ["denoised", "shrunk_eigenvalues"]

# Rows of differences of eigenvalues that are looked at together.
_ROWS = 256


def denoised(matrix: Singles, variance: float) -> Singles:
    """The matrix without its noise, negative entries at zero: nothing is taken together less than never.

    `matrix` is overwritten.
    """
    if variance <= 0.0:
        return np.maximum(matrix, np.float32(0.0))
    values, vectors = scipy.linalg.eigh(matrix, overwrite_a=True, check_finite=False)
    kept = shrunk_eigenvalues(values.astype(np.float64), len(values) * variance)
    some = kept > 0.0
    vectors = vectors[:, some]
    root: Singles = vectors * np.sqrt(kept[some]).astype(np.float32)
    clean: Singles = root @ root.T
    return np.maximum(clean, np.float32(0.0), out=clean)


def shrunk_eigenvalues(values: Floats, square: float) -> Floats:
    """Each eigenvalue's best estimate under noise of semicircle variance `square`; below zero is zero."""
    width = 2.0 * np.sqrt(square / len(values))
    transform = np.empty(len(values))
    for first in range(0, len(values), _ROWS):
        apart = values[first : first + _ROWS, np.newaxis] - values
        transform[first : first + _ROWS] = (apart / (apart * apart + width * width)).mean(axis=1)
    return np.maximum(values - 2.0 * square * transform, 0.0)
