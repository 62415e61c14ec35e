"""The DPALS paper's three tasks: ratings of few items, ratings of all items, clicks.

User-level privacy needs users: the paper's effects show where an average item has some hundred sampled ratings. Where
MovieLens 10M or 20M is not at hand a market of that density stands in for it, not the much smaller MovieLens 1M.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from discreet.data import splits, synthetic
from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.published.private.baselines import Popularity, UserMean
from discreet.privacy.budget import Budget
from reproduction.central.yardstick import yardstick
from reproduction.context import Context, Size
from reproduction.datasets.lookup import KNOWN, Dataset, at_hand
from reproduction.scoring import Draws, metric_name, repeat, score
from reproduction.tuning import Search, Space, search

NO_NOISE = 1e6
"""An epsilon at which the noise does not matter: the same code without its noise."""
TOP = 400
"""Items of the small rating task."""
CROWDS: Mapping[Size, tuple[int, int, int]] = {
    "quick": (4_000, 500, 300_000),
    "full": (12_000, 1_200, 1_200_000),
}
"""Users, items and ratings of the market; at full size an average item has 500 sampled ratings (ML-10M: 330)."""
TOP_CROWDS: Mapping[Size, tuple[int, int, int]] = {
    "quick": (4_000, 200, 120_000),
    "full": (20_000, TOP, 900_000),
}
"""The same for the small rating task."""

M = TypeVar("M", bound=PrivateMethod)
Pair = tuple[Ratings, Ratings]


@dataclass(frozen=True)
class Task:
    """What is trained on, and what is predicted from what."""

    context: Context
    name: str
    data: Dataset
    train: Ratings
    valid: Pair
    test: Pair
    delta: float
    usual_count: float

    @classmethod
    def of_top_items(cls, context: Context) -> Task:
        """The 400 most rated items, split 98/1/1 by rating; of a market's fewer ratings more are held out."""
        if at_hand("ml-10m", context.data) is not None:
            data, parts = crowd(context, "ml-10m").top_items(TOP), (0.98, 0.01, 0.01)
            context.used[-1] = data
        else:
            data, parts = crowd(context, "ml-10m", TOP_CROWDS), (0.9, 0.05, 0.05)
        return cls._by_rating(context, "ML-10M-top400", data, parts)

    @classmethod
    def of_ratings(cls, context: Context) -> Task:
        """All items, split 80/10/10 by rating."""
        return cls._by_rating(context, "ML-10M", crowd(context, "ml-10m"), (0.8, 0.1, 0.1))

    @classmethod
    def of_clicks(cls, context: Context) -> Task:
        """Users held out and folded in from 80 % of their clicks; half of them for validation."""
        data = crowd(context, "ml-20m").clicks(4.0, per_user=5)
        context.used[-1] = data
        rng = context.rng("split")
        train, query, target = splits.held_out_users(data.ratings, 0.15, rng=rng, query_fraction=0.8)
        half = np.arange(query.n_users) < query.n_users // 2
        return cls(
            context,
            "ML-20M",
            data,
            train,
            (query.take_users(half), target.take_users(half)),
            (query.take_users(~half), target.take_users(~half)),
            # Of few users the noisy number may pass 1 / delta, which is refused.
            context.pick(quick=0.2, full=1.0) / data.ratings.n_users,
            _mean_count(data),
        )

    @classmethod
    def _by_rating(
        cls, context: Context, name: str, data: Dataset, parts: tuple[float, float, float]
    ) -> Task:
        train, valid, test = splits.by_rating(data.ratings, parts, rng=context.seed_for("split"))
        usual = round(parts[0] * _mean_count(data), 1)
        return cls(context, name, data, train, (train, valid), (train, test), 1e-5, usual)

    @property
    def title(self) -> str:
        """What it is run on, in words: the paper's data set by name, or a market by its size."""
        if self.data.name in KNOWN:
            return self.name if self.data.as_published else f"{self.name}, some of the users"
        ratings = self.data.ratings
        kind = "ratings" if self.explicit else "clicks"
        return f"{kind}, market of {ratings.n_users:,} users, {ratings.n_items:,} items"

    @property
    def explicit(self) -> bool:
        """Whether ratings are predicted, so that lower scores are better."""
        return self.train.explicit

    @property
    def metric(self) -> str:
        """Name of the score."""
        return metric_name(self.test[1])

    def score(
        self, method: PrivateMethod, epsilon: float, on: Pair, *, draw: int = 0, train: Ratings | None = None
    ) -> float:
        """Fit (on the task's training part, or on some of its users) and score."""
        fitted = method.fit(
            self.train if train is None else train,
            Budget(epsilon, self.delta),
            rng=self.context.seed_for("start", draw),
        )
        return score(fitted.model_, *on)

    def repeat(
        self, make: Callable[[], M], epsilon: float, draws: int, *, train: Ratings | None = None
    ) -> Draws:
        """Test scores over some noise draws."""
        return repeat(
            lambda draw: self.score(make(), epsilon, self.test, draw=draw, train=train), range(draws)
        )

    def tune(
        self,
        make: Callable[..., M],
        space: Space,
        trials: int,
        epsilon: float,
        *,
        first: Sequence[Mapping[str, Any]] = (),
        train: Ratings | None = None,
    ) -> Search:
        """Settings chosen on the validation part; the same ones are tried for every method with this space."""
        return search(
            make,
            space,
            trials,
            lambda method: self.score(method, epsilon, self.valid, train=train),
            self.context.rng("trials", self.name, epsilon),
            first=first,
            lower_is_better=self.explicit,
        )

    def tune_and_repeat(
        self,
        name: str,
        make: Callable[..., M],
        epsilon: float,
        draws: int,
        *,
        trials: int,
        space: Space | None = None,
        first: Sequence[Mapping[str, Any]] = (),
        train: Ratings | None = None,
    ) -> tuple[Draws, Mapping[str, Any]]:
        """Test scores of the settings that won, and these; without a space, of the defaults."""
        found: Mapping[str, Any] = {}
        if space is not None:
            found = self.tune(make, space, trials, epsilon, first=first, train=train).settings
        return self.repeat(partial(make, **found), epsilon, draws, train=train), found

    def trivial(self) -> tuple[str, float]:
        """The baseline that everything must beat: name and test score."""
        if self.explicit:
            return "user mean", score(UserMean().fit(self.train).model_, *self.test)
        return "popularity, no noise", self.score(Popularity(), NO_NOISE, self.test)

    def without_privacy(self, draws: int) -> Draws:
        """The model without privacy."""
        return yardstick(self.context, self.train, self.test, draws)


def crowd(context: Context, name: str, sizes: Mapping[Size, tuple[int, int, int]] | None = None) -> Dataset:
    """The data set, or a market with as many ratings for each item."""
    if at_hand(name, context.data) is not None:
        return context.dataset(name, quick_users=4_000)
    users, items, number = (CROWDS if sizes is None else sizes)[context.size]
    ratings = synthetic.market(users, items, number, rng=context.seed)
    sentence = (
        f"{KNOWN[name].title} is not at hand; ran on a skewed synthetic market of similar density instead "
        f"({users:,} users, {items:,} items, {number:,} ratings)."
    )
    found = Dataset(name, "market", "synthetic market", ratings, sentence)
    context.used.append(found)
    return found


def _mean_count(data: Dataset) -> float:
    return round(data.ratings.n_ratings / data.ratings.n_users, 1)
