"""The public rule: rank, rounds and shares of the budget from what is public or was paid for.

Nothing here sees ratings. The inputs are the budget, :class:`Activity` (a first small release that says how many users
there are and how much they rate) and the released popularity of the items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.types import Floats

__all__ = [
    "MOST_RANK",
    "Activity",
    "choose_rank",
    "choose_rounds",
    "difficulty",
    "energy_floor",
    "first_share",
    "items_in_use",
    "round_shares",
]


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
    if not square > 0.0:
        return listed
    return min(3.0 * popularity.total**2 / square, listed)


def difficulty(activity: Activity, items: float, mu: float) -> float:
    """Noise of an average item's estimate relative to a user's residual, per feature, if mu went into one round.

    A user's weight is 1/(sqrt(order * k) * residual) and an average item has n k / m users, so the noise 1/mu in
    an item's sum is ``residual * sqrt(order) * m / (mu n sqrt(k))`` in the estimate. This is that without the
    residual and the order.
    """
    return items / (mu * activity.users * math.sqrt(activity.ratings_per_user))


def choose_rank(activity: Activity, hard: float, mu: float, items: float, n_items: int) -> int:
    """Rank that the budget can carry.

    Three limits, each with its reason: the noise in an item's vector grows with the rank and the difficulty ``hard``
    (the best rank grew with the root of the budget, up to what an item's ratings tell); the users' moment must be
    readable, whose noise grows with the rank over n mu; and no more directions than a handful of ratings per user can
    place or the catalogue can hold. Where an average item is hardly known at all, the offsets make better use of the
    whole budget.
    """
    told = 0.8 * math.sqrt(activity.ratings / items)
    carried = min(1.35 / math.sqrt(hard), told) if hard < _HARD else 0.0
    readable = _readable(activity, mu)
    # Many directions only where the moment could carry twice as many. A few are worth it even where only one stands out
    # in every round: what they miss by noise is less than what a model without any taste misses.
    few = _LEAST_RANK if readable >= 1.0 else 0.0
    readable = max(min(readable, 12.0), 0.5 * readable, few)
    placed = min(activity.ratings_per_user / 2.0, n_items / 4.0)
    rank = int(min(MOST_RANK, carried, readable, placed))
    return rank if rank >= _LEAST_RANK else 0


def choose_rounds(activity: Activity, hard: float, mu: float) -> int:
    """Rounds: several are needed to find directions, and small noise affords more.

    The noise of the items' sums must be small, and that of the users' moment too.
    """
    few, many = _ROUNDS
    return round(few + (many - few) * _affords(activity, hard, mu))


def _readable(activity: Activity, mu: float) -> float:
    """Directions in which the users' moment stands out of its noise in every round."""
    return 0.025 * activity.users * mu / math.sqrt(_ROUNDS[0]) - 1.0


def energy_floor(activity: Activity, hard: float, mu: float) -> float:
    """Energy below which users get no more weight, as a share of a typical user's.

    With every user at the whole budget, those whose vectors are barely known have as much say as those who are sure.
    That is right where noise prevails, in the items' sums or in the users' moment, and wrong where it does not.
    """
    return 0.5 * _affords(activity, hard, mu)


def first_share(activity: Activity, n_items: int, mu: float) -> float:
    """Share of the budget for the offsets: those of few items that many people rated are known well for less."""
    return 0.2 - 0.1 * _ease(difficulty(activity, float(n_items), mu))


def _affords(activity: Activity, hard: float, mu: float) -> float:
    """From 0 where noise prevails in the items' sums or in the users' moment to 1 where it hardly matters in both."""
    clear = min(max((_readable(activity, mu) - 16.0) / 32.0, 0.0), 1.0)
    return min(_ease(hard), clear)


def _ease(hard: float) -> float:
    """From 0 where noise prevails to 1 where it hardly matters."""
    return min(max(math.log(_HALF_HARD / hard) / math.log(5.0), 0.0), 1.0)


_HARD = 0.09
_HALF_HARD = 0.04
_ROUNDS = (10, 16)
_LEAST_RANK = 3
MOST_RANK = 16
"""The rule never chooses more."""
