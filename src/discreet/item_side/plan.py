"""The public rule: rank, rounds and shares of the budget from what is public or was paid for.

Nothing here sees ratings. The inputs are the catalogue size, the budget and :class:`Activity`, a first small
release that says how many users there are and how much they rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Activity", "Plan"]


@dataclass(frozen=True)
class Activity:
    """Noisy facts about the crowd, from the first release.

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
    rank, rounds
        Size of the model and number of rounds after the offsets; rank 0 means offsets alone.
    shares
        Shares of mu^2: the offsets' release first, then each round's. They sum to 1.
    """

    rank: int
    rounds: int
    shares: tuple[float, ...]


def difficulty(activity: Activity, n_items: int, mu: float) -> float:
    """Noise of an average item's estimate relative to a user's residual, per feature, if mu went into one round.

    A user's weight is 1/(sqrt(order * k) * residual) and an average item has n k / m users, so the noise 1/mu in
    an item's sum is ``residual * sqrt(order) * m / (mu n sqrt(k))`` in the estimate. This is that without the
    residual and the order.
    """
    return n_items / (mu * activity.users * math.sqrt(activity.ratings_per_user))
