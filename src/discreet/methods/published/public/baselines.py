"""Trivial baselines of every result: what they ask, and the models that follow from the releases. Public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import RatingsInvalid
from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import PrivateSettings
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import denoise
from discreet.model.fold_in import Clicks, OwnMean
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.tallies import Choices, ItemTallies, MeanOfMeans, NoisyChoices, NoisyTallies
from discreet.types import Floats

__all__ = [
    "GLOBAL_MEAN",
    "ITEM_MEAN",
    "POPULARITY",
    "USER_MEAN",
    "ChoicesQuery",
    "MeanOfMeansQuery",
    "TalliesQuery",
]


@dataclass(frozen=True, eq=False)
class MeanOfMeansQuery(Query[float]):
    """What is the mean over users of their own mean ratings, in units of half the range around its middle?"""

    @property
    def mechanism(self) -> MeanOfMeans:
        """A sum of means and a number of users."""
        return MeanOfMeans()


@dataclass(frozen=True, eq=False)
class TalliesQuery(Query[NoisyTallies]):
    """What are the weighted sum and the weight of each item's ratings?"""

    n_items: int

    @property
    def mechanism(self) -> ItemTallies:
        """Two numbers for each item."""
        return ItemTallies(self.n_items)


@dataclass(frozen=True, eq=False)
class ChoicesQuery(Query[NoisyChoices]):
    """How often was each item chosen?"""

    n_items: int

    @property
    def mechanism(self) -> Choices:
        """One number for each item."""
        return Choices(self.n_items)


def _global_mean(settings: PrivateSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    scale = _rated(facts, "global-mean").scale
    mean = yield MeanOfMeansQuery("mean of users' means", facts.mu, planned=1)
    return Trained(_constant(facts, scale.middle + scale.half_width * mean, np.zeros(facts.n_items)), 1)


def _user_mean(settings: PrivateSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Nothing is asked: a user's mean is that user's own."""
    side = _constant(_rated(facts, "user-mean"), facts.scale.middle, np.ones(facts.n_items))
    yield from ()
    return Trained(side, 0)


def _item_mean(settings: PrivateSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    scale = _rated(facts, "item-mean").scale
    tallies = yield TalliesQuery("sum and weight of each item", facts.mu, facts.n_items, planned=1)
    mean, offsets = _shrunk(tallies)
    centre = scale.middle + scale.half_width * mean
    side = _constant(facts, centre, np.zeros(facts.n_items), scale.half_width * offsets)
    return Trained(side, 1)


def _popularity(settings: PrivateSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    noisy = yield ChoicesQuery("how often each item was chosen", facts.mu, facts.n_items, planned=1)
    total = ItemWeights.first(noisy.choices, np.full(facts.n_items, noisy.sigma)).total
    offsets = np.maximum(noisy.choices / total, 0.0)
    return Trained(ItemSide(facts.scale, 0.0, offsets, np.zeros((facts.n_items, 0)), Clicks()), 1)


def _shrunk(tallies: NoisyTallies) -> tuple[float, Floats]:
    """Overall mean, and each item's deviation from it by empirical Bayes; post-processing."""
    weights = ItemWeights.first(tallies.weights, np.full(len(tallies.weights), tallies.weight_sigma))
    mean = float(np.clip(tallies.sums.sum() / weights.total, -1.0, 1.0))
    excess = tallies.sums - mean * tallies.weights
    variance = np.full(len(excess), tallies.sum_sigma**2 + (mean * tallies.weight_sigma) ** 2)
    # A weight that may be nothing would let the noise of a sum pass for an item far from all others.
    positive = np.maximum(weights.positive(), 0.5 * tallies.weight_sigma)
    return mean, denoise(excess[:, None], positive, variance)[:, 0] / positive


def _constant(facts: Facts, centre: float, own_mean: Floats, offsets: Floats | None = None) -> ItemSide:
    """Predictions that depend on the user by their own mean or not at all."""
    offsets = np.zeros(facts.n_items) if offsets is None else offsets
    return ItemSide(facts.scale, centre, offsets, np.zeros((facts.n_items, 0)), OwnMean(own_mean))


def _rated(facts: Facts, method: str) -> Facts:
    if not facts.scale.explicit:
        raise RatingsInvalid(
            f"{method} predicts ratings, and here nobody gave any: the feedback is implicit. Use popularity, or "
            "name the column of the ratings and their range"
        )
    return facts


GLOBAL_MEAN = PublicHalf("global-mean", PrivateSettings, _global_mean, (MeanOfMeansQuery,))
USER_MEAN = PublicHalf("user-mean", PrivateSettings, _user_mean, (), public=())
ITEM_MEAN = PublicHalf("item-mean", PrivateSettings, _item_mean, (TalliesQuery,))
POPULARITY = PublicHalf("popularity", PrivateSettings, _popularity, (ChoicesQuery,), makes_lists=True)
