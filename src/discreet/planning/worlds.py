"""Made-up markets to plan on: what real sets of ratings have in common, at the sizes a person types.

A rating, as a share of the rating range, is a sum of four parts that are independent of each other: the person's own
level, the item's level, taste (a product of vectors) and what nobody could predict. How large the parts are differs
from set to set; `TEMPERS` has three markets that span what published sets show, and a plan is the mean and the range of
what happens in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.catalogue import Catalogue, Goal
from discreet.data.ratings import Ratings
from discreet.data.synthetic import activity, draw_weighted, popularity
from discreet.errors import SettingsInvalid
from discreet.types import Floats

__all__ = ["TEMPERS", "USUAL_SPREAD", "Sizes", "Temper", "draw_market"]

USUAL_SPREAD = 0.27
"""Standard deviation of ratings as a share of their range, where nobody says: see docs/plan.md."""

# Ranges up to this wide are rated in whole steps (1, 2, ..., 5); wider ones in a hundredth of the range.
_WHOLE = 10
# Before ratings are cut off at the ends of the range: a normal distribution with this mean, and with everything this
# much wider, has a mean of 0.63 and the spread that it should have once it is cut off.
_MEAN = 0.65
_WIDER = 1.14
# Sizes of the dimensions of taste fall with their number, as the singular values of real sets do: no cut-off.
_RANK = 24
_DECAY = 0.6


@dataclass(frozen=True)
class Sizes:
    """Numbers to plan with.

    Parameters
    ----------
    ratings_per_user
        Ratings (or clicks) a person, on average.
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


@dataclass(frozen=True)
class Temper:
    """One kind of market: standard deviations, as shares of the rating range.

    Of all ratings (``spread``), of people's own levels, of items' levels over the ratings, and of taste; the rest is
    noise. Where lists are the goal, ``lift`` is how much taste decides what people take.
    """

    name: str
    spread: float
    users: float
    items: float
    taste: float
    lift: float


TEMPERS = (
    Temper("little taste", spread=0.255, users=0.13, items=0.065, taste=0.06, lift=0.8),
    Temper("usual taste", spread=0.27, users=0.12, items=0.09, taste=0.105, lift=1.2),
    Temper("much taste", spread=0.285, users=0.11, items=0.115, taste=0.14, lift=1.6),
)
"""See docs/plan.md for what published sets have."""


def draw_market(sizes: Sizes, users: int, temper: Temper, seed: int) -> Ratings:
    """Ratings of ``users`` people over a catalogue of ``sizes.items`` items."""
    rng = np.random.default_rng(seed)
    most = max(1, min(sizes.items - 1, max(round(0.3 * sizes.items), round(3 * sizes.ratings_per_user))))
    counts = activity(users, round(users * sizes.ratings_per_user), most, rng)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    lift = temper.lift if sizes.goal == "rank" else 0.4
    weights = rng.permutation(popularity(counts, sizes.items, lift, sizes.head_share))
    tastes, traits = _vectors(users, rng), _vectors(sizes.items, rng)
    items = draw_weighted(rng, indptr, weights, tastes, traits, lift)
    catalogue = Catalogue(np.arange(1, sizes.items + 1))
    ids = np.arange(1, users + 1)
    if sizes.rating_range is None:
        return Ratings(indptr, items, np.ones(len(items)), ids, catalogue, None)
    more = sizes.relative_spread
    spread, own, level, taste = (
        more * part for part in (temper.spread, temper.users, temper.items, temper.taste)
    )
    # What nobody could predict, beside what rounding to steps adds.
    noise = math.sqrt(max(spread**2 - (own**2 + level**2 + taste**2 + sizes.step**2 / 12.0), 0.0))
    rows = np.repeat(np.arange(users), counts)
    share = noise * rng.standard_normal(len(items))
    share += (own * rng.standard_normal(users))[rows]
    share += (level * rng.standard_normal(sizes.items))[items]
    for k in range(_RANK):
        share += taste * tastes[rows, k] * traits[items, k]
    return Ratings(indptr, items, sizes.on_scale(_MEAN + _WIDER * share), ids, catalogue, sizes.rating_range)


def _vectors(rows: int, rng: np.random.Generator) -> Floats:
    """Vectors whose products have variance 1."""
    spectrum = np.arange(1.0, _RANK + 1.0) ** -_DECAY
    spectrum /= np.sqrt(np.square(spectrum).sum())
    drawn: Floats = rng.standard_normal((rows, _RANK)) * np.sqrt(spectrum)
    return drawn
