"""Number of users, ratings per user and variances, from the first small release. Public: sees the release only."""

from __future__ import annotations

import numpy as np

from discreet.catalogue.scale import RatingScale
from discreet.methods.budgeted.public.plan import Activity
from discreet.privacy.gaussian.activity import NoisyActivity

__all__ = ["read_activity"]


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
        return Activity(noisy.users, per_user, 1.0, 1.0, sizes, shares)
    sums = np.array([noisy.within, noisy.between])
    within, between = np.clip(sums / noisy.users, 0.01, 1.0) * scale.half_width**2
    return Activity(noisy.users, per_user, float(within), float(between), sizes, shares)
