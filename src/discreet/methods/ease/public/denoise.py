"""A noisy symmetric matrix, denoised by its known noise. Public: sees a release and the size of its noise.

Model: H = G + E, E symmetric with independent Gaussian entries of deviation sigma beside its diagonal, which is zero.
M items, s^2 = M sigma^2. Nothing here has a setting; every part follows from the noise and from H itself.

**Directions.** Eigenvalues of pure noise lie between -2 s and 2 s. Those above are what many people share: popularity,
genres. Each is replaced by its best estimate y - 2 s^2 Re g(y), g the mean of 1 / (y - y_j) over all eigenvalues (Bun,
Allez, Bouchaud and Potters 2016); the many inside the bulk enter as the semicircle that has their mean and variance.

**Features** of the items, where there are any, explain a part of what is left (`features`).

**The rest** is estimated twice, and the two are averaged, which is better than either on films and on books alike.
Linearly: times the share of the bulk's variance that is not noise; that keeps what only shows in sums. Entry by entry:
the expectation given what was seen, where the law of the entries is fitted to their own histogram (`entries`); that
finds the few strong pairs, such as volumes of a series.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from discreet.methods.ease.public.entries import expected_entries
from discreet.methods.ease.public.features import FeatureRows, Said, said
from discreet.types import Floats, Singles

__all__ = ["Denoised", "denoised", "directions"]

# Directions that are looked for at first, doubled until they are enough, and at most.
_FIRST, _MOST = 100, 800
# Sweeps of the block, and the degree of the polynomial in each: enough for directions beyond the edge of the noise.
_SWEEPS, _DEGREE = 3, 6


class Denoised(NamedTuple):
    """A matrix without its noise, the diagonal that its directions have, and what features say of it."""

    pairs: Singles
    diagonal: Floats
    features: Said | None


def denoised(noisy: Singles, sigma: float, features: FeatureRows | None = None) -> Denoised:
    """The matrix without its noise, as far as it can be told, and as features of its items lead one to expect.

    Negative entries are zero: nothing is taken together less than never.
    """
    order = len(noisy)
    square = order * sigma**2
    values, vectors = directions(noisy, 2.0 * math.sqrt(square))
    bulk = max(order - len(values), 1)
    middle = -float(values.sum()) / bulk  # the diagonal is zero, so all eigenvalues add up to nothing
    variance = max((float(np.vdot(noisy, noisy)) - float(values @ values)) / bulk - middle**2, 1e-30)
    told = max(variance - square * bulk / order, 0.0) / variance
    kept = _kept(values, square, order, middle, variance)
    shared: Singles = (vectors * kept.astype(np.float32)) @ vectors.T
    diagonal = np.diagonal(shared).astype(np.float64)
    rest = noisy - shared
    np.fill_diagonal(rest, 0.0)
    found = None if features is None else said(rest, features)
    if features is not None and found is not None:
        features.add_to(shared, found)
        features.add_to(rest, found, -1.0)
    estimate = expected_entries(rest, shared, sigma)
    rest *= np.float32(told)
    estimate += rest
    estimate *= np.float32(0.5)
    estimate += shared
    return Denoised(np.maximum(estimate, np.float32(0.0), out=estimate), diagonal, found)


def directions(matrix: Singles, edge: float) -> tuple[Floats, Singles]:
    """Eigenvalues above `edge` and their vectors, by subspace iteration with Chebyshev polynomials.

    Between -`edge` and `edge` the polynomials stay below 1, and above they grow fast: a few sweeps of a random block
    leave what stands out. The block starts the same way every time.
    """
    order = len(matrix)
    rng = np.random.default_rng(0)
    most = min(_MOST, order)
    width, unit = min(_FIRST, order), np.float32(edge)
    while True:
        block = np.linalg.qr(rng.standard_normal((order, width), dtype=np.float32))[0]
        for _ in range(_SWEEPS):
            before, block = block, (matrix @ block) / unit
            for _ in range(_DEGREE - 1):
                before, block = block, (np.float32(2.0) / unit) * (matrix @ block) - before
            block = np.linalg.qr(block)[0]
        values, rotation = np.linalg.eigh(block.T @ (matrix @ block))
        out = values > edge
        if np.count_nonzero(out) < 0.8 * width or width == most:
            return values[out].astype(np.float64), block @ rotation[:, out]
        width = min(2 * width, most)


def _kept(values: Floats, square: float, order: int, middle: float, variance: float) -> Floats:
    """The best estimate of each eigenvalue that stands out; below zero is zero."""
    apart = values[:, np.newaxis] - values
    others = (apart / (apart * apart + 4.0 * square / order)).sum(axis=1) / order
    beyond = values - middle
    root = np.sqrt(np.maximum(beyond * beyond - 4.0 * variance, 0.0))
    inside = (1.0 - len(values) / order) * (beyond - root) / (2.0 * variance)
    kept: Floats = np.maximum(values - 2.0 * square * (others + inside), 0.0)
    return kept
