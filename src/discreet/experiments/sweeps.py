"""DPALS over a range of one setting, the penalty chosen anew at every point, on a task with many users.

User-level privacy needs users: the paper's effects show where an average item has some hundred sampled ratings. Where
MovieLens 10M is not at hand a market of that density stands in for it, not the much smaller MovieLens 1M.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.central.dpals import DPALS
from discreet.data import splits, synthetic
from discreet.data.ratings import Ratings
from discreet.experiments.context import Context
from discreet.experiments.datasets import KNOWN, Dataset, at_hand
from discreet.experiments.scoring import Draws, score
from discreet.privacy.budget import Budget

__all__ = ["LABEL", "NO_NOISE", "Point", "Sweep", "crowd"]

LABEL = "The penalty is chosen at every point on a validation split; the search is not charged."
NO_NOISE = 1e6
"""An epsilon at which the noise does not matter: the same code without its noise."""
CROWDS = {"quick": (4_000, 500, 300_000), "full": (20_000, 2_000, 2_000_000)}
"""Users, items and ratings of the market; at full size an average item has 500 sampled ratings (ML-10M: 330)."""


def crowd(context: Context, name: str) -> Dataset:
    """The data set, or a market with as many ratings for each item."""
    if at_hand(name, context.paths, context.data) is not None:
        return context.dataset(name, quick_users=4_000)
    users, items, number = CROWDS[context.size]
    ratings = synthetic.market(users, items, number, rng=context.seed)
    sentence = (
        f"{KNOWN[name].title} is not at hand; ran on a skewed synthetic market of similar density instead "
        f"({users:,} users, {items:,} items, {number:,} ratings)."
    )
    found = Dataset(name, "market", "synthetic market", ratings, sentence)
    context.used.append(found)
    return found


@dataclass(frozen=True)
class Point:
    """The score at one place of a sweep, over some noise draws, and the penalty that was chosen there."""

    value: Draws
    penalty: float


@dataclass
class Sweep:
    """A task and the settings that stay the same.

    Parameters
    ----------
    context
        Size, seed, report.
    data
        Where the ratings came from.
    train, valid, test
        Validation and test are pairs: what users are folded in from, and what is predicted.
    delta
        Of every budget.
    usual
        Settings of DPALS that every point shares.
    penalties
        Tried at every point.
    draws
        Noise draws of the chosen penalty.
    """

    context: Context
    data: Dataset
    train: Ratings
    valid: tuple[Ratings, Ratings]
    test: tuple[Ratings, Ratings]
    usual: Mapping[str, Any]
    penalties: Sequence[float]
    delta: float = 1e-5
    draws: int = 1
    total: int = 0
    _done: int = field(default=0, init=False)

    @classmethod
    def of_ratings(cls, context: Context, *, draws: int = 2) -> Sweep:
        """80/10/10 by rating, as the paper splits MovieLens 10M."""
        data = crowd(context, "ml-10m")
        train, valid, test = splits.by_rating(data.ratings, (0.8, 0.1, 0.1), rng=context.seed_for("split"))
        return cls(
            context,
            data,
            train,
            (train, valid),
            (train, test),
            {"rank": context.pick(quick=4, full=16), "most": 50, "typical_count": 0.8 * _mean_count(data)},
            context.pick(quick=(5.0, 20.0), full=(4.0, 12.0, 30.0, 70.0)),
            draws=context.number_of_draws(quick=1, full=draws),
        )

    @classmethod
    def of_clicks(cls, context: Context, *, draws: int = 2) -> Sweep:
        """Users held out, as the paper splits MovieLens 20M; half of them for validation."""
        data = crowd(context, "ml-20m").clicks(4.0, per_user=5)
        context.used[-1] = data
        rng = context.rng("split")
        train, query, target = splits.held_out_users(data.ratings, 0.15, rng=rng, query_fraction=0.8)
        half = np.arange(query.n_users) < query.n_users // 2
        typical = _mean_count(data)
        return cls(
            context,
            data,
            train,
            (query.take_users(half), target.take_users(half)),
            (query.take_users(~half), target.take_users(~half)),
            {
                "rank": context.pick(quick=4, full=16),
                "most": min(60, int(typical)),
                "item_exponent": 0.0,
                "user_exponent": 0.0,
                "typical_count": typical,
            },
            context.pick(quick=(1.0,), full=(0.3, 3.0, 30.0)),
            delta=1.0 / data.ratings.n_users,
            draws=context.number_of_draws(quick=1, full=draws),
        )

    def at(self, epsilon: float, **settings: Any) -> Point:
        """Choose the penalty on the validation split, then score it on the test."""
        budget = Budget(epsilon, self.delta)
        better = min if self.train.explicit else max
        tried = {penalty: self._score(budget, penalty, settings, 0, self.valid) for penalty in self.penalties}
        chosen = better(tried, key=lambda penalty: tried[penalty])
        values = [self._score(budget, chosen, settings, draw, self.test) for draw in range(self.draws)]
        self._done += 1
        self.context.report("points", self._done, max(self.total, self._done))
        return Point(Draws(tuple(values)), chosen)

    def over(self, epsilon: float, name: str, values: Sequence[Any], **settings: Any) -> list[Point]:
        """A point for each value of one setting."""
        return [self.at(epsilon, **(settings | {name: value})) for value in values]

    def data_fractions(self, shares: Sequence[float]) -> Iterator[float]:
        """What part of the ratings the items have that a share of the catalogue makes; exact, for the axis."""
        counts = np.sort(np.bincount(self.train.items, minlength=self.train.n_items))[::-1]
        for share in shares:
            yield float(counts[: int(np.ceil(share * len(counts)))].sum() / counts.sum())

    def _score(
        self,
        budget: Budget,
        penalty: float,
        settings: Mapping[str, Any],
        draw: int,
        on: tuple[Ratings, Ratings],
    ) -> float:
        chosen = {**self.usual, **settings, "penalty": penalty}
        model = DPALS(**chosen).fit(self.train, budget, rng=self.context.seed_for("start", draw)).model_
        return score(model, *on)


def _mean_count(data: Dataset) -> float:
    """Ratings per user: published for a published data set, a setting of the market."""
    return round(data.ratings.n_ratings / data.ratings.n_users, 1)
