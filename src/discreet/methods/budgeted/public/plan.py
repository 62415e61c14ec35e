"""The public rule: rank, rounds and shares of the budget from what is public or was paid for.

Nothing here sees ratings. The inputs are the catalogue size, the budget and :class:`Activity`, a first small
release that says how many users there are and how much they rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["MOST_RANK", "Activity", "Plan", "choose_rank", "choose_rounds", "difficulty"]


@dataclass(frozen=True)
class Activity:
    """Noisy facts about all users together, from the first release.

    Parameters
    ----------
    users, ratings_per_user
        How many, and their mean number of ratings.
    within, between
        Mean variance of a user's ratings around their own mean, and of these means around the centre
        (explicit feedback; 1 for implicit).
    """

    users: float
    ratings_per_user: float
    within: float
    between: float

    @property
    def ratings(self) -> float:
        """Estimated number of ratings."""
        return self.users * self.ratings_per_user


@dataclass(frozen=True)
class Plan:
    """How one run spends its budget.

    Parameters
    ----------
    rank
        Size of the model; 0 means offsets alone.
    shares
        Shares of mu^2: the offsets' release first, then each round's. They sum to 1.
    """

    rank: int
    shares: tuple[float, ...]

    @property
    def rounds(self) -> int:
        """Rounds after the offsets."""
        return len(self.shares) - 1

    @classmethod
    def make(cls, rank: int, rounds: int, first: float, growth: float) -> Plan:
        """Spend ``first`` on the offsets and the rest on rounds that each get ``growth`` times the one before."""
        if rank == 0:
            return cls(0, (1.0,))
        logs = [t * math.log(growth) for t in range(rounds)]
        # Relative to the largest, and never nothing: a release without any budget cannot be charged.
        sizes = [max(math.exp(size - max(logs)), 1e-9) for size in logs]
        return cls(rank, (first, *((1.0 - first) * size / math.fsum(sizes) for size in sizes)))


def difficulty(activity: Activity, n_items: int, mu: float) -> float:
    """Noise of an average item's estimate relative to a user's residual, per feature, if mu went into one round.

    A user's weight is 1/(sqrt(order * k) * residual) and an average item has n k / m users, so the noise 1/mu in
    an item's sum is ``residual * sqrt(order) * m / (mu n sqrt(k))`` in the estimate. This is that without the
    residual and the order.
    """
    return n_items / (mu * activity.users * math.sqrt(activity.ratings_per_user))


def choose_rank(activity: Activity, n_items: int, mu: float, *, explicit: bool) -> int:
    """Rank that the budget can carry.

    Three limits, each with its reason: the noise in an item's vector grows with the rank (measured: a product of
    rank and difficulty of about 0.4 for ratings and 2 for clicks still pays); the users' moment must
    be readable, whose noise grows with the rank over n mu; and no more directions than a handful of ratings per
    user can place or the catalogue can hold. Below three directions explicit ratings do better with the whole
    budget in the offsets.
    """
    hard = difficulty(activity, n_items, mu)
    carried = (0.4 if explicit else 2.0) / hard
    readable = 0.025 * activity.users * mu / math.sqrt(_ROUNDS[explicit]) - 1.0
    placed = min(activity.ratings_per_user / (2.0 if explicit else 0.5), n_items / 4.0)
    rank = int(min(_MOST[explicit], carried, readable, placed))
    return rank if rank >= (3 if explicit else 2) else 0


def choose_rounds(*, explicit: bool) -> int:
    """Rounds: ratings need several to find their directions, clicks settle sooner and then gather noise."""
    return _ROUNDS[explicit]


_ROUNDS = {True: 10, False: 4}
_MOST = {True: 12, False: 24}
MOST_RANK = max(_MOST.values())
"""The rule never chooses more."""
