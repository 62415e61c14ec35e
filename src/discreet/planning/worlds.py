"""Made-up markets to plan on: what real sets of ratings have in common, at the sizes a person types.

A rating, as a share of the rating range, is a sum of four parts that are independent of each other: the person's own
level, the item's level, taste (a product of vectors) and what nobody could predict. How large the parts are differs
from set to set; `TEMPERS` has three markets that span what published sets show, and a plan is the mean and the range of
what happens in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data.draws import activity, draw_weighted, popularity
from discreet.data.ratings import Ratings
from discreet.planning.sizes import Sizes
from discreet.types import Floats

__all__ = ["TEMPERS", "Temper", "draw_market"]

# Before ratings are cut off at the ends of the range: a normal distribution with this mean, and with everything this
# much wider, has a mean of 0.63 and the spread that it should have once it is cut off.
_MEAN = 0.65
_WIDER = 1.14

# Sizes of the dimensions of taste fall with their number, as the singular values of real sets do: no cut-off.
_RANK = 24
_DECAY = 0.6


@dataclass(frozen=True)
class Temper:
    """One kind of market: standard deviations, as shares of the rating range.

    Parameters
    ----------
    name
        In words.
    spread
        Of all ratings.
    users, items, taste
        Of people's own levels, of items' levels over the ratings, and of taste. The rest is noise.
    lift
        How much taste decides what people take, where lists are the goal.
    """

    name: str
    spread: float
    users: float
    items: float
    taste: float
    lift: float

    def scaled(self, factor: float) -> Temper:
        """With ratings that vary more or less, all parts alike."""
        names = ("spread", "users", "items", "taste")
        return replace(self, **{name: factor * getattr(self, name) for name in names})

    def noise(self, step: float) -> float:
        """What nobody could predict, beside what rounding to steps of this width adds."""
        parts = self.users**2 + self.items**2 + self.taste**2 + step**2 / 12.0
        return float(np.sqrt(max(self.spread**2 - parts, 0.0)))


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
    temper = temper.scaled(sizes.relative_spread)
    rows = np.repeat(np.arange(users), counts)
    share = temper.noise(sizes.step) * rng.standard_normal(len(items))
    share += (temper.users * rng.standard_normal(users))[rows]
    share += (temper.items * rng.standard_normal(sizes.items))[items]
    for k in range(_RANK):
        share += temper.taste * tastes[rows, k] * traits[items, k]
    return Ratings(indptr, items, sizes.on_scale(_MEAN + _WIDER * share), ids, catalogue, sizes.rating_range)


def _vectors(rows: int, rng: np.random.Generator) -> Floats:
    """Vectors whose products have variance 1."""
    spectrum = np.arange(1.0, _RANK + 1.0) ** -_DECAY
    spectrum /= np.sqrt(np.square(spectrum).sum())
    drawn: Floats = rng.standard_normal((rows, _RANK)) * np.sqrt(spectrum)
    return drawn
