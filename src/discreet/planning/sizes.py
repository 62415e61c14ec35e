"""What a person says about the ratings they have or expect: a few numbers, and nothing read from any rating."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.catalogue import Goal
from discreet.errors import SettingsInvalid
from discreet.types import Floats

__all__ = ["USUAL_SPREAD", "Sizes"]

USUAL_SPREAD = 0.27
"""Standard deviation of ratings as a share of their range, where nobody says: see docs/plan.md."""

_WHOLE = 10
"""Ranges up to this wide are rated in whole steps (1, 2, ..., 5); wider ones in a hundredth of the range."""


@dataclass(frozen=True)
class Sizes:
    """Numbers to plan with.

    Parameters
    ----------
    users, items, ratings_per_user
        How many people, items, and ratings (or clicks) a person on average.
    rating_range
        Lowest and highest rating; ``None`` for clicks.
    goal
        To rank items, or to predict ratings.
    head_share
        Which share of all ratings the most popular fifth of the items has: 0.2 where all items are as popular.
    spread
        Standard deviation of all ratings, where it is known from elsewhere; a usual one is `USUAL_SPREAD` of the range.
    """

    users: int
    items: int
    ratings_per_user: float
    rating_range: tuple[float, float] | None = (1.0, 5.0)
    goal: Goal = "rank"
    head_share: float = 0.7
    spread: float | None = None

    def __post_init__(self) -> None:
        if not (self.users >= 100 and self.items >= 10):
            raise SettingsInvalid(
                f"a plan needs at least 100 users and 10 items, not {self.users} and {self.items}"
            )
        if not 2.0 <= self.ratings_per_user <= 0.8 * self.items:
            raise SettingsInvalid(
                f"{self.ratings_per_user:g} ratings a user do not fit {self.items} items; say between 2 and "
                f"{0.8 * self.items:g} (eight tenths of the catalogue)"
            )
        if not 0.2 <= self.head_share <= 0.99:
            raise SettingsInvalid(
                "the share of the most popular fifth lies between 0.2 (all items alike) and 0.99, not "
                f"{self.head_share:g}"
            )
        self._check_ratings()

    @property
    def relative_spread(self) -> float:
        """How much more the ratings vary than usual."""
        if self.spread is None or self.rating_range is None:
            return 1.0
        return self.spread / (USUAL_SPREAD * (self.rating_range[1] - self.rating_range[0]))

    @property
    def step(self) -> float:
        """Between two ratings that can be given, as a share of the range."""
        assert self.rating_range is not None
        width = self.rating_range[1] - self.rating_range[0]
        return 1.0 / width if width <= _WHOLE and float(width).is_integer() else 0.01

    def _check_ratings(self) -> None:
        if self.rating_range is None:
            if self.goal == "rate":
                raise SettingsInvalid(
                    "without ratings there is nothing to predict; plan to rank, or give a rating range"
                )
            return
        low, high = self.rating_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise SettingsInvalid(f"the rating range must rise, not go from {low:g} to {high:g}")
        if self.spread is not None and not 0.1 * (high - low) <= self.spread <= 0.45 * (high - low):
            raise SettingsInvalid(
                f"a standard deviation of {self.spread:g} does not fit ratings from {low:g} to {high:g}; usual is "
                f"{USUAL_SPREAD * (high - low):g}, and a tenth to 0.45 of the range can be planned with"
            )

    def on_scale(self, share: Floats) -> Floats:
        """Shares of the range as ratings, in steps."""
        assert self.rating_range is not None
        low, high = self.rating_range
        placed: Floats = low + np.rint(np.clip(share, 0.0, 1.0) / self.step) * (self.step * (high - low))
        return np.minimum(placed, high)
