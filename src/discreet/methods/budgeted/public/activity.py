"""Number of users, ratings per user and variances, from the first small release. Public: sees the release only."""

from __future__ import annotations

import numpy as np

from discreet.catalogue.scale import RatingScale
from discreet.methods.budgeted.public.plan import Activity
from discreet.privacy.gaussian.activity import NoisyActivity

__all__ = ["read_activity"]

# Users' means differ at least by this share of the variance of their ratings.
_LEAST_BETWEEN = 0.02


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
    if not scale.explicit:
        return Activity(noisy.users, per_user, 0.0, 1.0, 1.0, sizes, shares)
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
    return level, within, float(np.clip(between, _LEAST_BETWEEN * within, 1.0))
