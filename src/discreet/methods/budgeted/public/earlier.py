"""An earlier model as the start and the prior of a run. Public: sees releases and the earlier release only.

The earlier model costs nothing here: it was released, or its ratings are public. How far it is believed follows from
what this run releases, with the noise known: offsets and popularity are regressed on the earlier ones, and what is left
beside the noise is drift. The factors are put to a trial (:mod:`discreet.methods.budgeted.public.start`).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import signal_covariance
from discreet.model.start import Start
from discreet.types import Floats

__all__ = ["best_drift", "prior_offsets", "prior_popularity"]

# Variance by which items drifted since the earlier model, in units of what it left open on average.
_DRIFTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_STEPS = 30


def prior_popularity(found: ItemWeights, start: Start) -> ItemWeights:
    """Popularity as released, drawn toward the earlier one as far as that predicts it.

    The weight of an item that the earlier model knows is ``m + e`` with m the earlier popularity times one factor. The
    variance of e is a quadratic of m with coefficients not below zero, from what the released weights miss m by less
    their noise: an unrelated popularity gets a variance that does not fall with m, and does nothing.
    """
    earlier = start.side.popularity
    if earlier is None or not (told := start.known & (earlier > 0.0)).any():
        return found
    weight, noise, earlier = found.estimate[told], found.variance[told], earlier[told]
    level = max(found.total / len(found.estimate), 1e-300)
    drift = np.full(len(weight), level**2)
    guess = weight
    for _ in range(_STEPS):
        trust = 1.0 / (noise + drift)
        guess = earlier * max(float(trust @ (weight * earlier) / (trust @ earlier**2)), 0.0)
        shape = np.column_stack([np.full(len(guess), level**2), level * guess, guess**2])
        parts, _ = nnls(shape * trust[:, None], ((weight - guess) ** 2 - noise) * trust)
        drift = np.maximum(shape @ parts, 1e-6 * level**2)
    precision = 1.0 / noise + 1.0 / drift
    estimate, variance = found.estimate.copy(), found.variance.copy()
    estimate[told], variance[told] = (weight / noise + guess / drift) / precision, 1.0 / precision
    return ItemWeights(estimate, variance)


def prior_offsets(noisy: Floats, variance: Floats, popularity: Floats, start: Start, cold: Floats) -> Floats:
    """Offsets as released, drawn toward a straight line in the earlier ones (and in log popularity).

    Parameters
    ----------
    noisy, variance
        Released offsets and the variance of their noise.
    popularity
        Above zero.
    cold
        What to take for items that the earlier model does not know.
    """
    told = start.known
    if not told.sum() > 3:
        return cold
    noisy, variance, earlier = noisy[told], variance[told], start.side.offsets[told]
    design = np.column_stack([np.ones_like(noisy), np.log(popularity[told]), earlier])
    doubt = start.offset_variances[told]
    drift, slope, line = max(float(np.median((noisy - earlier) ** 2)), 1e-6), 1.0, noisy
    for _ in range(_STEPS):
        trust = 1.0 / (variance + drift + slope**2 * doubt)
        normal = (design * trust[:, None]).T @ design + 1e-9 * np.eye(3)
        found = np.linalg.solve(normal, (design * trust[:, None]).T @ noisy)
        line, slope = design @ found, min(max(float(found[2]), 0.0), 1.0)
        excess = trust**2 @ ((noisy - line) ** 2 - variance - slope**2 * doubt) / (trust**2).sum()
        drift = max(float(excess), 1e-6)
    own = drift + slope**2 * doubt
    offsets = cold.copy()
    offsets[told] = line + own / (own + variance) * (noisy - line)
    return offsets


def best_drift(gradient: Floats, weight: Floats, variance: Floats, left: Floats) -> float:
    """How far items drifted beside what was not known of them: the likeliest, given the noise."""

    def likelihood(drift: float) -> float:
        size = weight * np.sqrt((left + drift) / (1.0 + drift))
        values, basis = np.linalg.eigh(signal_covariance(gradient, size, variance))
        expected = np.square(size)[:, None] * values + variance[:, None]
        return -float((np.log(expected) + np.square(gradient @ basis) / expected).sum())

    return max(_DRIFTS, key=likelihood)
