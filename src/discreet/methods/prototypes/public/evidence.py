"""What one silo has released about its users' deviations from their own level. Public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.privacy.gaussian.scaled_clusters import NoisyClusterSums
from discreet.privacy.gaussian.tallies import NoisyTallies
from discreet.types import Floats

__all__ = ["SCATTER", "WEIGHT_SHARE", "Evidence", "rating_weight", "typical_ratings"]

SCATTER = 0.2
"""Usual variance of a rating around user and item, in squared half ranges."""
WEIGHT_SHARE = 0.25
"""Energy of a one among the weights, where a deviation x has x^2 (`discreet.privacy.gaussian.tallies`)."""


# A mean of users' means is drawn to the middle of the scale where users times mu are no more than this, and then says
# nothing.
_STANDS_OUT, _UNKNOWN = 8.0, 10.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """Noisy sums with the scale of their noise; values are in half ranges.

    Attributes
    ----------
    level, level_sigma, users
        Mean of the users' own means, less the middle of the scale; how far off it is; and how many users there are.
    sums, weights
        For each item the weighted sum of the deviations and of the weights.
    sum_sigma, weight_sigma
        Scales of their noise.
    groups, group_sigma, sizes
        Weighted sums of the deviations of each group of users (groups x items), their noise, and the groups' numbers
        of users; no rows where users were not grouped.
    """

    level: float
    level_sigma: float
    users: float
    sums: Floats
    weights: Floats
    sum_sigma: float
    weight_sigma: float
    groups: Floats
    group_sigma: float
    sizes: Floats

    @classmethod
    def of(
        cls,
        level: float,
        level_mu: float,
        users: float,
        items: NoisyTallies,
        groups: NoisyClusterSums | None = None,
        sizes: Floats | None = None,
    ) -> Evidence:
        """From releases, in the 32-bit numbers that are sent."""
        none = np.zeros((0, len(items.sums)))
        return cls(
            level,
            _level_sigma(users, level_mu),
            max(users, 1.0),
            _as_sent(items.sums),
            _as_sent(items.weights),
            items.sum_sigma,
            items.weight_sigma,
            none if groups is None else _as_sent(groups.sums),
            1.0 if groups is None else groups.sigma,
            np.zeros(0) if sizes is None else _as_sent(np.maximum(sizes, 1.0)),
        )

    @property
    def total(self) -> float:
        """Weight of all items together, never below the noise of that sum."""
        return max(float(self.weights.sum()), self.weight_sigma * math.sqrt(len(self.weights)))


def rating_weight(weights: Floats, users: float) -> float:
    """How much a usual rating counts: a user of n ratings has (n (scatter + 1/4))^(-1/2) for each."""
    each = max(float(weights.sum()), 1e-9) / max(users, 1.0)
    return 1.0 / ((SCATTER + WEIGHT_SHARE) * each)


def typical_ratings(weights: Floats, users: float) -> float:
    """Ratings of a usual user, by how much weight users have."""
    return 1.0 / ((SCATTER + WEIGHT_SHARE) * rating_weight(weights, users) ** 2)


def _level_sigma(users: float, mu: float) -> float:
    """Scale of the noise in a mean of users' means (`discreet.privacy.gaussian.tallies`)."""
    return math.sqrt(4.0 / 3.0) / (mu * users) if mu * users > _STANDS_OUT else _UNKNOWN


def _as_sent(values: Floats) -> Floats:
    return values.astype(np.float32).astype(np.float64)
