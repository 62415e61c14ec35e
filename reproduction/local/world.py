"""What the experiments on devices share: the data, the free levels beside every number, and a descent's scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.data import splits, synthetic
from discreet.data.ratings import Ratings
from discreet.evaluation import metrics
from discreet.types import Floats
from reproduction.central.yardstick import yardstick
from reproduction.context import TRIALS, Context
from reproduction.datasets.lookup import Dataset
from reproduction.local.channel import Channel, Exact, Projected, Projection, Round
from reproduction.local.crowd import Crowd
from reproduction.local.descent import Descent, Outcome, descend
from reproduction.scoring import Draws

P = TypeVar("P")

EPSILONS = (0.1, 0.4, 1.6)
"""Of the paper's budgets, 0.1 to 1.6, every second."""
ROUNDS = 10
OPEN_RATES = (0.1, 100.0)
"""Learning rates of the non-private descent: tried from the first to the last, in equal ratios."""
PRIVATE_RATES = (0.003, 30.0)
"""The same for private ones, which want smaller steps."""
TUNING = (
    "Learning rates were chosen on a validation split by looking at the results, by as many trials for the non-private "
    "descent as for each private method at each epsilon. That is not charged: every private method is shown better "
    "than "
    "it could be run."
)
_CROWD = {"quick": (3_000, 300, 60_000), "full": (60_000, 2_500, 1_700_000)}


@dataclass(frozen=True)
class World:
    """Ratings of devices, dealt into training, validation and test."""

    data: Dataset
    train: Ratings
    valid: Ratings
    test: Ratings
    rank: int
    seed: int
    trials: int
    _runs: dict[object, Outcome] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Of the data."""
        return self.data.title

    @property
    def heading(self) -> str:
        """For a panel: the data by name and size."""
        return f"{self.name}, {self.train.n_users:,} users, {self.train.n_items:,} items"

    @property
    def as_published(self) -> bool:
        """Whether these are the paper's own ratings, so that its numbers can be compared."""
        return self.data.wanted == "ml-20m" and self.data.as_published

    @property
    def dimensions(self) -> int:
        """q of the projection: a tenth of the items, as in the paper."""
        return max(1, self.train.n_items // 10)

    @cached_property
    def projected(self) -> Projected:
        """Algorithm 2 with one matrix for all runs."""
        return Projected(Projection(self.dimensions, self.train.n_items, np.random.default_rng(self.seed)))

    @cached_property
    def global_mean(self) -> float:
        """Test RMSE of the mean of all training ratings."""
        return metrics.rmse(np.full(self.test.n_ratings, metrics.global_mean(self.train)), self.test.values)

    @cached_property
    def user_mean_predictions(self) -> Floats:
        """Each test rating predicted by the same user's own mean, the middle of the scale where there is none."""
        assert self.train.rating_range is not None
        means = metrics.user_means(self.train, 0.5 * sum(self.train.rating_range))
        return np.repeat(means, np.diff(self.test.indptr))

    @cached_property
    def user_mean(self) -> float:
        """Test RMSE of each user's own mean: free, and never leaves the device."""
        return metrics.rmse(self.user_mean_predictions, self.test.values)

    @cached_property
    def rate(self) -> float:
        """The learning rate at which the non-private descent is best on the validation split."""
        return self._best(OPEN_RATES, lambda rate: self.exact(rate=rate))

    def tuned_rate(
        self, channel: Channel, epsilon: float, *, correction: float = 2.0, batches: int = 1
    ) -> float:
        """The learning rate at which a private descent of ten rounds is best on the validation split."""
        return self._best(
            PRIVATE_RATES,
            lambda rate: self.run(channel, epsilon, rate=rate, correction=correction, batches=batches),
        )

    def _best(self, between: tuple[float, float], run: Callable[[float], Outcome]) -> float:
        def error(rate: float) -> float:
            found = self.error(run(rate), self.valid)
            return math.inf if math.isnan(found) else found

        return min((float(rate) for rate in np.geomspace(*between, self.trials)), key=error)

    @cached_property
    def untouched(self) -> Outcome:
        """Items as they began, profiles stepped to on the devices: nothing was sent."""
        return self.run(Exact(), None, rate=0.0)

    def exact(self, rounds: int = ROUNDS, rate: float | None = None) -> Outcome:
        """The non-private descent; kept, as several numbers are held against it."""
        found = self.rate if rate is None else rate
        if (rounds, found) not in self._runs:
            self._runs[rounds, found] = self.run(Exact(), None, rounds=rounds, rate=found, correction=0.0)
        return self._runs[rounds, found]

    def run(
        self,
        channel: Channel,
        epsilon: float | None,
        *,
        rate: float,
        rounds: int = ROUNDS,
        correction: float = 2.0,
        batches: int = 1,
    ) -> Outcome:
        """One descent over all devices."""
        settings = Descent(self.rank, rounds, rate, correction=correction, batches=batches)
        return descend(self.train, channel, epsilon, settings, rng=self.seed)

    def error(self, found: Outcome, test: Ratings) -> float:
        """RMSE on held-out ratings, with the profiles the devices came to."""
        return metrics.rmse(self.predictions(found, test), test.values)

    def predictions(self, found: Outcome, test: Ratings) -> Floats:
        """Of every held-out rating."""
        return found.predict(np.repeat(np.arange(test.n_users), np.diff(test.indptr)), test.items)

    def top(self, found: Outcome, users: npt.NDArray[np.integer], n: int) -> npt.NDArray[np.int32]:
        """The best items for some users, without what they rated."""
        rated = self.train.take_users(users)
        index, _ = kernels.top_n(
            found.profiles[users],
            found.items,
            np.zeros(len(found.items)),
            n,
            exclude_indptr=rated.indptr,
            exclude_items=rated.items,
        )
        return index


@dataclass(frozen=True)
class EvenCoins:
    """A control: the same mechanism with devices that rated nothing, so that every answer is an even coin."""

    channel: Channel
    name: str = "even coins"
    protects: Literal["user", "rating", "nothing"] = "user"

    def gradient(self, asked: Round) -> Floats:
        """What the server would make of answers without any content."""
        nobody = Crowd(
            np.zeros(asked.crowd.size + 1, dtype=np.int64),
            np.zeros(0, dtype=np.int32),
            np.zeros(0),
            asked.crowd.n_items,
        )
        return self.channel.gradient(replace(asked, crowd=nobody))


def worlds(context: Context) -> list[World]:
    """MovieLens (20M, or what is at hand), goodbooks-10k, and a skewed market with many users."""
    found = [context.dataset(name, quick_users=1_500) for name in ("ml-20m", "goodbooks")]
    crowd = _crowd(context)
    context.used[:] = [data for data in context.used if data.name != "market"]
    context.used.append(crowd)
    return [world_of(context, data) for data in [*(data for data in found if data.name != "market"), crowd]]


def each_world(context: Context, measure: Callable[[World], P]) -> list[P]:
    """What is measured in each world."""
    found = worlds(context)
    panels = []
    for number, world in enumerate(found):
        panels.append(measure(world))
        context.report("worlds", number + 1, len(found))
    return panels


def free_levels(found: Iterable[tuple[str, float, float]]) -> str:
    """In words: of each world its name, and the errors of the user's and the global mean."""
    return "; ".join(f"{name} user mean {own:.4f}, global mean {every:.4f}" for name, own, every in found)


def score_rows(
    world: str,
    levels: Mapping[str, float],
    scores: Mapping[str, Mapping[float, Draws]],
    x: str = "epsilon",
    metric: str = "RMSE",
) -> list[dict[str, Any]]:
    """A world's rows: levels first, then a row for each method and place on the x axis."""
    rows: list[dict[str, Any]] = [
        {"data": world, "method": name, metric: value} for name, value in levels.items()
    ]
    for method, points in scores.items():
        for place, value in points.items():
            key = {"data": world, "method": method, x: place}
            rows.append({**key, metric: value.mean, "spread": value.spread})
    return rows


def _crowd(context: Context) -> Dataset:
    ratings = synthetic.market(*_CROWD[context.size], rng=context.seed_for("crowd"))
    size = f"{ratings.n_users:,} users, {ratings.n_items:,} items, {ratings.n_ratings:,} ratings"
    return Dataset("market", "market", "skewed market", ratings, f"A skewed synthetic market ({size}).")


def world_of(context: Context, data: Dataset) -> World:
    """A data set's ratings, dealt into three parts."""
    train, valid, test = splits.by_rating(
        data.ratings, (0.8, 0.1, 0.1), rng=context.seed_for("split", data.name)
    )
    rank = context.pick(quick=4, full=15)
    seed = context.seed_for("devices", data.name) % 2**32
    return World(data, train, valid, test, rank, seed, TRIALS[context.size])


OPEN = "best without privacy"
_SHRINKAGE = (1.0, 1e6)
"""Ratings by which items' offsets are drawn to 0, from the first to the last; at the last it is the user's mean."""


def open_error(context: Context, world: World) -> float:
    """Test RMSE of ALS or of tuned offsets, whichever is better on the validation split."""
    valid, test = (
        yardstick(context, world.train, (world.train, part), 1).mean for part in (world.valid, world.test)
    )
    return min((valid, test), tuned_offsets(world))[1]


def tuned_offsets(world: World) -> tuple[float, float]:
    """Validation and test RMSE of user and item offsets without noise, shrunk by the best of as many trials."""
    tried = map(float, np.geomspace(*_SHRINKAGE, world.trials))
    errors = {shrinkage: offsets_error(world, shrinkage, world.valid) for shrinkage in tried}
    best = min(errors, key=lambda shrinkage: errors[shrinkage])
    return errors[best], offsets_error(world, best, world.test)


def offsets_error(world: World, shrinkage: float, test: Ratings) -> float:
    """RMSE of user and item offsets fitted in turn without noise, items drawn toward 0 as by so many ratings."""
    crowd = Crowd.of(world.train)
    items = np.zeros(crowd.n_items)
    seen = np.bincount(crowd.items, minlength=crowd.n_items)
    assert world.train.rating_range is not None
    users = np.full(crowd.size, 0.5 * sum(world.train.rating_range))
    rated = crowd.counts > 0
    for _ in range(8):
        users[rated] = crowd.total(crowd.values - items[crowd.items])[rated] / crowd.counts[rated]
        left = crowd.values - users[crowd.rows]
        items = np.bincount(crowd.items, weights=left, minlength=crowd.n_items) / (seen + shrinkage)
    rows = np.repeat(np.arange(crowd.size), np.diff(test.indptr))
    predicted = np.clip(users[rows] + items[test.items], *world.train.rating_range)
    return metrics.rmse(predicted, test.values)
