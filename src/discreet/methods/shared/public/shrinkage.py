"""Empirical Bayes on released statistics: estimates are shrunk by the known noise level.

Everything here works on what has already passed the gate, so it is post-processing and free. Because the noise
scale is known exactly, the size of the signal can be estimated by subtracting the noise's known share from the
observed second moments, and the best linear estimate follows. This replaces a ridge tuned by hand: with more
noise the estimates shrink by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet import kernels
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.types import Floats

__all__ = [
    "Estimate",
    "denoise",
    "estimate",
    "popularity_line",
    "regress_offsets",
    "shrink_to_identity",
    "signal_covariance",
]


def signal_covariance(vectors: Floats, weight: Floats, variance: Floats, steps: int = 25) -> Floats:
    """Covariance T of z_j when ``vectors_j = weight_j z_j + noise``, noise of known variance per item.

    A method-of-moments estimate with items weighted by how much they tell (the optimal weights depend on T, so
    it is iterated), projected to the PSD cone.
    """
    order = vectors.shape[1]
    square = weight**2
    size = max(float((kernels.square_norms(vectors) / order - variance).sum() / square.sum()), 1e-12)
    for _ in range(steps):
        trust = square / (square * size + variance) ** 2
        excess = (vectors.T * trust) @ vectors - np.eye(order) * (trust * variance).sum()
        excess /= (trust * square).sum()
        previous, size = size, max(float(np.maximum(np.linalg.eigvalsh(excess), 0.0).mean()), 1e-12)
        if abs(size - previous) < 1e-3 * previous:
            break
    values, basis = np.linalg.eigh(excess)
    covariance: Floats = (basis * np.maximum(values, 0.0)) @ basis.T
    return covariance


class Estimate(NamedTuple):
    """Best linear estimates of ``weight_j z_j``, and the posterior variance of ``z_j``, its mean over directions."""

    vectors: Floats
    left: Floats


def estimate(
    vectors: Floats,
    weight: Floats,
    variance: Floats,
    *,
    floor: float = 0.0,
    expected: Floats | None = None,
    prior: FeaturePrior | None = None,
) -> Estimate:
    """Best linear estimate of ``weight_j z_j`` from its noisy version.

    Parameters
    ----------
    vectors
        items x order.
    weight
        Size of each item's signal relative to the others.
    variance
        Known noise variance of each item's entries.
    floor
        Smallest signal variance to assume in any direction, as a share of the mean. Above zero it keeps a
        direction alive that this round could not see, which matters while a subspace is still being found.
    expected
        Expected variance of ``z_j`` relative to other items': small for those that are known well already.
    prior
        Features of the items, toward whose regression estimates are shrunk, rather than toward zero.
    """
    expected = np.ones_like(weight) if expected is None else expected
    size = weight * np.sqrt(expected)
    values, basis = np.linalg.eigh(signal_covariance(vectors, size, variance))
    values = np.maximum(values, floor * max(float(values.mean()), 0.0))
    turned = kernels.transform_rows(vectors, basis.T)
    guess = np.zeros_like(turned)
    if prior is not None and values.max() > 0.0:
        fit = prior.fit(turned, size, variance, values)
        guess, values = size[:, None] * fit.explained, fit.own
    signal = np.multiply.outer(size**2, values)
    whole = signal + variance[:, None]
    gain = np.divide(signal, whole, out=np.zeros_like(signal), where=whole > 0.0)
    shrunk = kernels.transform_rows(guess + gain * (turned - guess), basis)
    left = ((1.0 - gain) * values).mean(axis=1)
    return Estimate(shrunk, left * expected)


def denoise(vectors: Floats, weight: Floats, variance: Floats) -> Floats:
    """Best linear estimate of ``weight_j z_j`` from its noisy version; see `estimate`."""
    return estimate(vectors, weight, variance).vectors


def regress_offsets(
    noisy: Floats, variance: Floats, popularity: Floats, prior: FeaturePrior | None = None, steps: int = 20
) -> Floats:
    """Item offsets from noisy ones: shrunk toward a straight line in log popularity, and what features add to it.

    What is rated often tends to be rated higher, so a rare item's best guess is not the overall mean but that
    of items as rare as it is.
    """
    spread, told, fit = _first_spread(noisy), np.zeros_like(noisy), None
    line = np.zeros_like(noisy)
    for _ in range(1 if prior is None else 3):
        line, spread = _around_line(noisy, told, variance, popularity, spread, steps)
        if prior is not None:
            fit = prior.fit((noisy - line)[:, None], np.ones_like(noisy), variance, np.array([spread]))
            told = fit.explained[:, 0]
    own = spread if fit is None else float(fit.own[0])
    guess = line + told
    return guess + own / (own + variance) * (noisy - guess)


def popularity_line(noisy: Floats, variance: Floats, popularity: Floats) -> tuple[Floats, float]:
    """Straight line in log popularity through noisy offsets, and their variance around it beside the known one."""
    return _around_line(noisy, np.zeros_like(noisy), variance, popularity, _first_spread(noisy), steps=20)


def _first_spread(noisy: Floats) -> float:
    return max(float(np.median(np.abs(noisy)) ** 2), 1e-6)


def _around_line(
    noisy: Floats, told: Floats, variance: Floats, popularity: Floats, spread: float, steps: int
) -> tuple[Floats, float]:
    rare = np.log(popularity)
    rare -= rare.mean()
    beside = noisy - told
    squared, product, line = np.square(rare), rare * beside, np.zeros_like(noisy)
    for _ in range(steps):
        trust = 1.0 / (variance + spread)
        bend = trust @ rare
        normal = np.array([[trust.sum(), bend], [bend, trust @ squared]]) + 1e-9 * np.eye(2)
        level, slope = np.linalg.solve(normal, np.array([trust @ beside, trust @ product]))
        line = level + slope * rare
        trust *= trust
        excess = trust @ (np.square(noisy - line) - variance) / trust.sum()
        previous, spread = spread, max(float(excess), 1e-6)
        if abs(spread - previous) < 1e-4 * previous:
            break
    return line, spread


def shrink_to_identity(moment: Floats, sigma: float) -> Floats:
    """A noisy second moment that is expected to be near the identity, shrunk to it by its noise level.

    Diagonal entries have noise ``sigma``, the others ``sigma / sqrt(2)``. Eigenvalues are kept above 0.05.
    """
    order = len(moment)
    change = moment - np.eye(order)
    diagonal = np.diag(np.diag(change))
    rest = change - diagonal
    believed = _believed(diagonal, sigma**2 * order) + _believed(rest, 0.5 * sigma**2 * order * (order - 1))
    values, basis = np.linalg.eigh(np.eye(order) + believed)
    shrunk: Floats = (basis * np.maximum(values, 0.05)) @ basis.T
    return shrunk


def _believed(change: Floats, noise: float) -> Floats:
    size = float((change**2).sum())
    return change * max(0.0, 1.0 - noise / size) if size > 0.0 else change
