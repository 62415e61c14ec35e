"""Number of users, ratings per user and variances, from the first small release. Public: sees the release only."""

from __future__ import annotations

import math

import numpy as np

from discreet.catalogue.scale import RatingScale
from discreet.methods.budgeted.public.plan import Activity
from discreet.privacy.gaussian.activity import NoisyActivity

__all__ = ["read_activity"]

# Variance of users' means in units of that of their ratings: what is expected before anything is released, and by
# which factor it may well be off (docs/decisions/0107-means-of-users.md).
_USUAL_BETWEEN = 0.2
_FACTOR = 2.0


def read_activity(noisy: NoisyActivity, n_items: int, scale: RatingScale) -> Activity | None:
    """Number of users, ratings per user and variances; ``None`` where the users do not stand out of the noise."""
    if not noisy.users > 3.0 * noisy.sigma:
        return None
    # Noise in a bin that stands for thousands of ratings would swamp the mean: take what stands out.
    kept = np.where(noisy.histogram > 2.0 * noisy.sigma, noisy.histogram, 0.0)
    middle = np.minimum(1.5 * 2.0 ** np.arange(len(kept)) - 0.5, n_items)
    mean = float((kept * middle).sum() / kept.sum()) if kept.any() else float(np.sqrt(n_items))
    per_user = min(max(mean, 1.0), float(n_items))
    sizes, shares = np.array([per_user]), np.ones(1)
    if kept.any():
        sizes, shares = middle[kept > 0.0], kept[kept > 0.0] / kept.sum()
    level, within, between = _levels(noisy, float((shares / sizes).sum()))
    centre = scale.middle + level * scale.half_width
    square = scale.half_width**2
    return Activity(noisy.users, per_user, centre, square * within, square * between, sizes, shares)


def _levels(noisy: NoisyActivity, few: float) -> tuple[float, float, float]:
    """Mean of users' means; variance of their ratings around their own, and of their true means around each other.

    ``few`` is the mean of one over a user's number of ratings: so much of the variance of single ratings is missing
    around a mean of few, and found in that mean instead.
    """
    level = float(np.clip(noisy.level / noisy.users, -1.0, 1.0))
    # Of a mean that noise could explain, the rest is believed.
    doubt = (noisy.sigma / (0.8 * noisy.users)) ** 2
    level *= max(0.0, 1.0 - doubt / max(level**2, 1e-300))
    seen = float(np.clip(noisy.within / noisy.users, 0.01, 1.0))
    within = min(seen / max(1.0 - few, 0.5), 1.0)
    between = noisy.square / noisy.users - level**2 - within * few
    share = noisy.sigma / noisy.users
    sigma = share * float(np.hypot(1.0 / 0.6, 2.0 * level / 0.8))
    return level, within, within * _expected_ratio(between / within, sigma / within)


def _expected_ratio(ratio: float, sigma: float) -> float:
    """What is expected of a ratio above zero that was released with noise: lognormal before, the noise is normal."""
    logs = np.linspace(-4.0, 4.0, 161)
    sizes = _USUAL_BETWEEN * np.exp(logs * math.log(_FACTOR))
    likely = -0.5 * np.square(logs) - 0.5 * np.square((ratio - sizes) / sigma)
    weight = np.exp(likely - likely.max())
    return float(weight @ sizes / weight.sum())
