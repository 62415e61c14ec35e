"""The trivial methods, private like all others: what any result has to stand beside.

They are served by the same `Model`, so they are compared under the same budget, with the same histories and by the
same metrics as anything that claims to be better.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from discreet.catalogue import CLICKS
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.methods.checks import check_items
from discreet.methods.method import PrivateMethod, Progress, Trained
from discreet.methods.settings import PrivateSettings
from discreet.methods.shared.public.item_weights import Popularity as Weights
from discreet.methods.shared.public.shrinkage import denoise
from discreet.model import Model
from discreet.model.fold_in import Clicks, OwnMean
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.pattern import Pattern
from discreet.privacy.gaussian.tallies import (
    ItemTallies,
    release_choices,
    release_item_tallies,
    release_mean_of_means,
)
from discreet.privacy.statement import Statement
from discreet.types import Floats

__all__ = ["GlobalMean", "ItemMean", "Popularity", "UserMean"]


class GlobalMean(PrivateMethod[PrivateSettings]):
    """One number for everybody and everything: the mean over users of their own mean ratings.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release, a sum of means
    and a number of users, spends the budget; every user counts the same. The mean over ratings, in which busy users
    count more, would need a bound on how busy they are. Proof note: ``privacy/proofs/trivial.md``.
    """

    name = "global-mean"
    settings_type = PrivateSettings

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        middle, half, values = _scaled(ratings, self.name)
        mean = release_mean_of_means(
            gate, "mean of users' means", _pattern(ratings), values, mu=gate.ledger.remaining_mu
        )
        return Trained(_constant(ratings, middle + half * mean, np.zeros(ratings.n_items)), 1)


class UserMean(PrivateMethod[PrivateSettings]):
    """Each user's own mean rating for everything, the middle of the range for a user without a history.

    Notes
    -----
    **Privacy**. Nothing is released: a user's mean is computed for that user alone when it is asked for. It costs
    nothing and needs no budget, except to find a catalogue where none is given (``discover_share``).
    """

    name = "user-mean"
    settings_type = PrivateSettings

    def fit(
        self,
        ratings: Ratings,
        budget: Budget | None = None,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
        noise: Noise | None = None,
    ) -> Self:
        """Make the model; the ratings only say which catalogue and which range."""
        if ratings.catalogue is None:
            # Without a budget this is refused there, in the words that all methods have.
            return super().fit(ratings, budget, rng=rng, progress=progress, noise=noise)  # type: ignore[arg-type]
        check_items(ratings.n_items)
        self.statement_ = Statement.nothing_released(public=("the item catalogue", "the rating range"))
        self.rank_, self.rounds_ = 0, 0
        self.model_ = Model(
            self._side(ratings), ratings.catalogue, self.statement_, self.name, self._described()
        )
        return self

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        return Trained(self._side(ratings), 0)

    def _side(self, ratings: Ratings) -> ItemSide:
        low, high = _range(ratings, self.name)
        return _constant(ratings, 0.5 * (low + high), np.ones(ratings.n_items))


class ItemMean(PrivateMethod[PrivateSettings]):
    """Each item's mean rating, drawn toward the overall mean as far as noise hides the item's own.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release, a sum and a
    weight for each item, spends the budget: every user's contribution is scaled to energy 1, which makes their ratings
    count the less the more of them there are. The overall mean and the shrinkage follow from what was released. Proof
    note: ``privacy/proofs/trivial.md``.
    """

    name = "item-mean"
    settings_type = PrivateSettings

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        middle, half, values = _scaled(ratings, self.name)
        tallies = release_item_tallies(
            gate, "sum and weight of each item", _pattern(ratings), values, mu=gate.ledger.remaining_mu
        )
        mean, offsets = _shrunk(tallies)
        side = _constant(ratings, middle + half * mean, np.zeros(ratings.n_items), half * offsets)
        return Trained(side, 1)


class Popularity(PrivateMethod[PrivateSettings]):
    """The items most often chosen, for everybody; what ratings say beyond the choice is ignored.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release spends the
    budget: a user with k items adds 1 / sqrt(k) to each, so every user has energy 1. Scores are shares of the sum over
    items. Proof note: ``privacy/proofs/trivial.md``.
    """

    name = "popularity"
    settings_type = PrivateSettings

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        mu = gate.ledger.remaining_mu
        chosen = release_choices(gate, "how often each item was chosen", _pattern(ratings), mu=mu)
        total = Weights.first(chosen, np.full(len(chosen), 1.0 / mu)).total
        empty = np.zeros((ratings.n_items, 0))
        return Trained(ItemSide(CLICKS, 0.0, np.maximum(chosen / total, 0.0), empty, Clicks()), 1)


def _shrunk(tallies: ItemTallies) -> tuple[float, Floats]:
    """Overall mean, and each item's deviation from it by empirical Bayes; post-processing."""
    weights = Weights.first(tallies.weights, np.full(len(tallies.weights), tallies.weight_sigma))
    mean = float(np.clip(tallies.sums.sum() / weights.total, -1.0, 1.0))
    excess = tallies.sums - mean * tallies.weights
    variance = np.full(len(excess), tallies.sum_sigma**2 + (mean * tallies.weight_sigma) ** 2)
    positive = weights.positive()
    return mean, denoise(excess[:, None], positive, variance)[:, 0] / positive


def _constant(ratings: Ratings, centre: float, own_mean: Floats, offsets: Floats | None = None) -> ItemSide:
    """Predictions that depend on the user by their own mean or not at all."""
    offsets = np.zeros(ratings.n_items) if offsets is None else offsets
    factors = np.zeros((ratings.n_items, 0))
    return ItemSide(ratings.scale, centre, offsets, factors, OwnMean(own_mean))


def _range(ratings: Ratings, method: str) -> tuple[float, float]:
    if ratings.rating_range is None:
        raise RatingsInvalid(
            f"{method} predicts ratings, and here nobody gave any: the feedback is implicit. Use popularity, or "
            "name the column of the ratings and their range"
        )
    return ratings.rating_range


def _scaled(ratings: Ratings, method: str) -> tuple[float, float, Floats]:
    """Middle and half width of the range, and the ratings in these units: from -1 to 1."""
    low, high = _range(ratings, method)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    return middle, half, (ratings.values - middle) / half


def _pattern(ratings: Ratings) -> Pattern:
    return Pattern(ratings.indptr, ratings.items, ratings.n_items)
