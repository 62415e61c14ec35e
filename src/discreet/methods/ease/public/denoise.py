"""A noisy symmetric matrix, denoised by its known noise. Public: sees a release and the size of its noise.

Model: H = G + E, E symmetric with independent Gaussian entries of variance v. Two steps, neither with a setting.

**By directions.** Of all estimates that keep the eigenvectors of H the best replaces its eigenvalue y by
``y - 2 s^2 Re g(y)``, s^2 = M v, where g is the Stieltjes transform of the eigenvalues: their own mean of
1 / (y - y_j), read off beside the real line (Bun, Allez, Bouchaud and Potters 2016). It needs no rank. What people
share is found so: genres, popularity. Inside the bulk of the noise, from -2 s to 2 s, it keeps a little of everything.
That helps where taste is spread over many directions, and harms where it is not: both ways are candidates.

**By entries.** What is left has many small entries and a few large ones: pairs of the same series. All have the same
known noise, so how large they usually are follows from their own histogram (nonparametric maximum likelihood, Kiefer
and Wolfowitz 1956), and each is replaced by its mean given what was seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from discreet.types import Bools, Floats, Singles

__all__ = ["Spectrum", "entries_given_noise", "shrunk_eigenvalues", "spectrum"]

# Rows of differences of eigenvalues that are looked at together.
_ROWS = 256
# The histogram of entries, in deviations of the noise: steps of a tenth; entries beyond are what they seem to be.
_STEP, _FAR = 0.1, 12.0
_EM_STEPS = 200


class Spectrum(NamedTuple):
    """Eigenvectors of a noisy matrix, their eigenvalues without noise, and which stand out of its bulk."""

    vectors: Singles
    values: Floats
    stands_out: Bools

    def matrix(self, *, bulk: bool) -> Singles:
        """The matrix by directions, with what lies inside the bulk or without."""
        some = (self.values > 0.0) & (self.stands_out | bulk)
        root = self.vectors[:, some] * np.sqrt(self.values[some]).astype(np.float32)
        whole: Singles = root @ root.T
        return whole


def spectrum(noisy: Singles, variance: float) -> Spectrum:
    """Of a noisy matrix."""
    found: tuple[Singles, Singles] = scipy.linalg.eigh(noisy, check_finite=False)  # type: ignore[assignment]
    values, vectors = found[0].astype(np.float64), found[1]
    square = len(values) * variance
    return Spectrum(vectors, shrunk_eigenvalues(values, square), values > 2.0 * np.sqrt(square))


def shrunk_eigenvalues(values: Floats, square: float) -> Floats:
    """Each eigenvalue's best estimate under noise of semicircle variance `square`; below zero is zero."""
    width = 2.0 * np.sqrt(square / len(values))
    transform = np.empty(len(values))
    for first in range(0, len(values), _ROWS):
        apart = values[first : first + _ROWS, np.newaxis] - values
        transform[first : first + _ROWS] = (apart / (apart * apart + width * width)).mean(axis=1)
    return np.maximum(values - 2.0 * square * transform, 0.0)


def entries_given_noise(rest: Singles, sigma: float) -> Singles:
    """Each entry's expectation, given itself and the histogram of all entries above the diagonal.

    `rest` is overwritten; its diagonal comes out as nothing.
    """
    rest /= np.float32(sigma)
    edges = np.arange(-_FAR, _FAR + _STEP / 2, _STEP)
    middles = 0.5 * (edges[1:] + edges[:-1])
    counted = np.zeros(len(middles))
    for first in range(0, len(rest), _ROWS):
        some = rest[first : first + _ROWS]
        above = np.arange(len(rest)) > np.arange(first, first + len(some))[:, np.newaxis]
        counted += np.histogram(some[above], edges)[0]
    expected = _expectations(counted, middles)
    for first in range(0, len(rest), _ROWS):
        some = rest[first : first + _ROWS]
        some[...] = np.where(np.abs(some) < _FAR, np.interp(some, middles, expected), some)
    rest *= np.float32(sigma)
    np.fill_diagonal(rest, 0.0)
    return rest


def _expectations(counted: Floats, middles: Floats) -> Floats:
    """What a number seen at each middle is expected to be: noise of deviation 1 on sizes whose law is fitted."""
    if not counted.any():
        return np.zeros(len(middles))
    sizes = np.concatenate([-np.geomspace(0.02, 6.0, 30), [0.0], np.geomspace(0.02, _FAR, 60)])
    likelihood = np.exp(-0.5 * (middles[:, np.newaxis] - sizes) ** 2)
    law = np.full(len(sizes), 0.1 / (len(sizes) - 1))
    law[sizes == 0.0] = 0.9
    seen = counted / counted.sum()
    for _ in range(_EM_STEPS):
        law *= likelihood.T @ (seen / (likelihood @ law))
    joint = likelihood * law
    return np.maximum.accumulate((joint @ sizes) / joint.sum(axis=1))
