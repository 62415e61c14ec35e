"""The public rule: what the first release says of the users, and rank, rounds and shares of the budget from that.

Nothing here sees ratings. The inputs are the budget, a first small release that says how many users there are and how
much they rate, and the released popularity of the items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.catalogue.scale import RatingScale
from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.privacy.gaussian.tallies import NoisyActivity
from discreet.types import Floats

__all__ = [
    "LEAST_RANK",
    "MOST_RANK",
    "Activity",
    "choose_rank",
    "items_in_use",
    "least_energy",
    "noise_ratio",
    "read_activity",
    "round_shares",
]

LEAST_RANK, MOST_RANK = 3, 16
"""What the rule chooses between, beside offsets alone."""


@dataclass(frozen=True)
class Activity:
    """Noisy facts about all users together, from the first release.

    Parameters
    ----------
    users, ratings_per_user
        How many, and their mean number of ratings.
    centre
        Mean of users' mean ratings.
    within, between
        Variance of a user's ratings around their own mean, and of these means around the centre.
    sizes, shares
        Numbers of ratings, and the share of users who have about that many.
    """

    users: float
    ratings_per_user: float
    centre: float
    within: float
    between: float
    sizes: Floats
    shares: Floats

    @property
    def ratings(self) -> float:
        """Estimated number of ratings."""
        return self.users * self.ratings_per_user


def read_activity(noisy: NoisyActivity, n_items: int, scale: RatingScale) -> Activity | None:
    """Number of users, ratings per user and variances; ``None`` where the users do not stand out of the noise."""
    if not noisy.users > 3.0 * noisy.sigma:
        return None
    # Noise in a bin that stands for thousands of ratings would swamp the mean: take what stands out.
    kept = np.where(noisy.histogram > 2.0 * noisy.sigma, noisy.histogram, 0.0)
    middle = np.minimum(1.5 * 2.0 ** np.arange(len(kept)) - 0.5, n_items)
    sizes, shares = np.array([min(max(math.sqrt(n_items), 1.0), n_items)]), np.ones(1)
    if kept.any():
        sizes, shares = middle[kept > 0.0], kept[kept > 0.0] / kept.sum()
    level, within, between = _levels(noisy, float((shares / sizes).sum()))
    centre, square = scale.middle + level * scale.half_width, scale.half_width**2
    return Activity(
        noisy.users, float(shares @ sizes), centre, square * within, square * between, sizes, shares
    )


def _levels(noisy: NoisyActivity, few: float) -> tuple[float, float, float]:
    """Mean of users' means; variance of their ratings around their own, and of their true means around each other.

    ``few`` is the mean of one over a user's number of ratings: so much of the variance of single ratings is missing
    around a mean of few, and found in that mean instead.
    """
    share = noisy.sigma / noisy.users
    level = float(np.clip(noisy.level / noisy.users, -1.0, 1.0))
    # Of a mean that noise could explain, the rest is believed.
    level *= max(0.0, 1.0 - (share / 0.8) ** 2 / max(level**2, 1e-300))
    within = min(float(np.clip(noisy.within / noisy.users, 0.01, 1.0)) / max(1.0 - few, 0.5), 1.0)
    between = noisy.square / noisy.users - level**2 - within * few
    sigma = share * math.hypot(1.0 / 0.6, 2.0 * level / 0.8)
    return level, within, within * _expected_ratio(between / within, sigma / within)


def _expected_ratio(ratio: float, sigma: float) -> float:
    """What is expected of a ratio above zero that was released with noise: lognormal before, the noise is normal."""
    logs = np.linspace(-4.0, 4.0, 161)
    sizes = fitted.USUAL_BETWEEN * 2.0**logs
    likely = -0.5 * np.square(logs) - 0.5 * np.square((ratio - sizes) / sigma)
    weight = np.exp(likely - likely.max())
    return float(weight @ sizes / weight.sum())


def round_shares(rounds: int, growth: float) -> list[float]:
    """Shares of mu^2 for rounds that each get ``growth`` times the one before. They sum to 1."""
    logs = [t * math.log(growth) for t in range(rounds)]
    # Relative to the largest, and never nothing: a release without any budget cannot be charged.
    sizes = [max(math.exp(size - max(logs)), 1e-9) for size in logs]
    return [size / math.fsum(sizes) for size in sizes]


def items_in_use(popularity: ItemWeights) -> float:
    """How many items share the takes: three times ``1 / sum p_j^2``, at most all.

    Items that nobody takes do not count, whatever the catalogue lists. The noise's share of the sum of squares is
    known and taken off.
    """
    square = float(np.square(popularity.estimate).sum() - popularity.variance.sum())
    listed = float(len(popularity.estimate))
    return min(3.0 * popularity.total**2 / square, listed) if square > 0.0 else listed


def noise_ratio(activity: Activity, items: float, mu: float) -> float:
    """Noise of an average item's estimate relative to a user's residual, per feature, if mu went into one round.

    A user's weight is 1/(sqrt(order * k) * residual) and an average item has n k / m users, so the noise 1/mu in
    an item's sum is ``residual * sqrt(order) * m / (mu n sqrt(k))`` in the estimate. This is that without the
    residual and the order.
    """
    return items / (mu * activity.users * math.sqrt(activity.ratings_per_user))


def least_energy(activity: Activity, items: float, mu: float) -> float:
    """Energy below which users get no more weight, as a share of a typical user's.

    With every user at the whole budget, those whose vectors are barely known have as much say as those who are sure.
    That is right where noise prevails and wrong where it does not.
    """
    return fitted.LEAST_ENERGY * max(1.0 - noise_ratio(activity, items, mu) / fitted.CLEAR, 0.0)


def choose_rank(activity: Activity, items: float, n_items: int, mu: float) -> int:
    """Rank that the budget can carry.

    Three limits, each with its reason: the noise in an item's vector grows with the rank and the noise ratio (the best
    rank grew with the root of the budget, up to what an item's ratings tell); the users' moment must be readable, whose
    noise grows with the rank over n mu; and no more directions than a handful of ratings per user can place or the
    catalogue can hold. Where an average item is hardly known at all, the offsets make better use of the whole budget.
    """
    noise = noise_ratio(activity, items, mu)
    if noise >= fitted.TOO_NOISY:
        return 0
    told = fitted.TOLD * math.sqrt(activity.ratings / items)
    carried = min(fitted.CARRIED / math.sqrt(noise), told)
    readable = fitted.READABLE * activity.users * mu - 1.0
    # Many directions only where the moment could carry twice as many. A few are worth it even where only one stands out
    # in every round: what they miss by noise is less than what a model without any taste misses.
    few = LEAST_RANK if readable >= 1.0 else 0.0
    readable = max(min(readable, 12.0), 0.5 * readable, few)
    placed = min(activity.ratings_per_user / 2.0, n_items / 4.0)
    rank = int(min(MOST_RANK, carried, readable, placed))
    return rank if rank >= LEAST_RANK else 0
