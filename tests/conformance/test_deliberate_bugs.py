"""The suite has power: ways to break a promise that turn a check red; those that are planted in our own code are in
``mutants``.

All of them are made of one small honest method, broken in one place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from discreet import Ratings
from discreet.errors import ModelInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import Facts, Queries
from discreet.methods.public.query import Query, Trained
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import NoisyCounts
from tests.conformance import suite
from tests.conformance.cases import hostile, town
from tests.conformance.own_method import HowMany, ShyContributions, ShyPopularity, ShySettings, train
from tests.conformance.runs import Run, record

HONEST = ShyPopularity.public_half


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite must find the bugs by itself, without what the engine computes again."""
    monkeypatch.setattr("discreet.engines.memory.check_sample", lambda *_: None)


def method(
    train: Callable[..., Queries] = train,
    answers: type[Any] = ShyContributions,
    queries: tuple[type[Query[Any]], ...] = (HowMany,),
    **half: Any,
) -> PrivateMethod:
    """The honest method with one part exchanged."""

    class Broken(PrivateMethod):
        public_half = replace(HONEST, train=train, queries=queries, **half)
        private_half = answers

    return Broken()


def broken(check: Callable[[Run], None], culprit: PrivateMethod, kind: str = "implicit") -> None:
    """The check is red for the culprit and green for the honest."""
    check(record(ShyPopularity(), hostile(kind)))
    run = record(culprit, hostile(kind))
    with pytest.raises(AssertionError):
        check(run)


class LeavesTheLastOut(ShyContributions):
    """An off-by-one over users: harmless for the bound, but not the same for every division and order of users."""

    def __init__(self, ratings: Ratings) -> None:
        super().__init__(ratings.take_users(slice(0, max(ratings.n_users - 1, 0))))


def _end(asking: Queries, noisy: NoisyCounts) -> Queries:
    try:
        asking.send(noisy)
    except StopIteration as end:
        trained: Trained = end.value
        return trained
    raise AssertionError
    yield


def test_a_bound_that_depends_on_earlier_releases_is_found() -> None:
    """Honest as long as the releases are; after a wild one, everybody counts for ten."""

    class Trusting(ShyContributions):
        def contributions(self, query: Any) -> Any:
            blocks = super().contributions(query)
            loud = int(1 + 9 * (abs(query.level) > 1e5))
            return [replace(block, weights=block.weights * loud) for block in blocks]  # type: ignore[type-var]

    @dataclass(frozen=True, eq=False)
    class AtLevel(HowMany):
        level: float = 0.0

    def twice(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
        asking = train(settings, facts, rng)
        sample = next(asking).sample
        mu, level = facts.mu / np.sqrt(2.0), 0.0
        for name in ("first", "second"):
            noisy = yield AtLevel(name, mu, sample, facts.n_items, level, planned=2)
            level = float(noisy.counts.max() * 1e3)
        return (yield from _end(asking, noisy))

    culprit = method(twice, Trusting, queries=(AtLevel,))
    suite.check_neighbours(record(culprit, hostile("implicit")), reached=0.9)
    with pytest.raises(AssertionError):
        suite.check_bound_after_wild_releases(culprit, hostile("implicit"))


def test_a_private_half_that_depends_on_the_order_of_users_is_found() -> None:
    broken(suite.check_threads_and_order, method(answers=LeavesTheLastOut))


seen: list[float] = [0.0]


class Tells(ShyContributions):
    """Leaves a number where the public half can find it."""

    def __init__(self, ratings: Ratings) -> None:
        super().__init__(ratings)
        seen[0] = float(ratings.n_users)


def listens(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
    side, rounds = yield from train(settings, facts, rng)
    return Trained(replace(side, offsets=side.offsets + seen[0]), rounds)


class Peeks(ShyPopularity):
    """A class that adds to the model what no gate has seen."""

    def fit(self, ratings: Ratings, *arguments: Any, **options: Any) -> Any:
        super().fit(ratings, *arguments, **options)
        side = self.model_.item_side
        offsets = side.offsets + float(ratings.values.sum())
        self.model_ = replace(self.model_, item_side=replace(side, offsets=offsets))
        return self


@pytest.mark.parametrize("culprit", [method(listens, Tells), Peeks()], ids=["tells", "peeks"])
def test_what_reaches_the_model_beside_the_gate_is_found(culprit: PrivateMethod) -> None:
    broken(suite.check_only_releases_reach_the_model, culprit)


def test_training_data_that_is_kept_is_found() -> None:
    class Keeps(ShyPopularity):
        def fit(self, ratings: Ratings, *arguments: Any, **options: Any) -> Any:
            self.counts_ = np.diff(ratings.indptr)
            return super().fit(ratings, *arguments, **options)

    data = town("implicit")
    for culprit, raises in ((ShyPopularity(), False), (Keeps(), True)):
        fitted = culprit.fit(data, suite.Budget(20.0, 1e-6), rng=0)
        if raises:
            with pytest.raises(AssertionError):
                suite.check_nothing_kept(fitted, data)
        else:
            suite.check_nothing_kept(fitted, data)


def throws_dice(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Randomness that nobody can replay."""
    return (yield from train(settings, facts, np.random.default_rng()))


numbers = itertools.count()


def counts_runs(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """State between runs."""
    side, rounds = yield from train(settings, facts, rng)
    return Trained(replace(side, centre=float(next(numbers))), rounds)


@pytest.mark.parametrize("culprit", [throws_dice, counts_runs])
def test_a_public_half_that_cannot_be_replayed_is_found(culprit: Callable[..., Queries]) -> None:
    broken(suite.check_replay, method(culprit))


def writes(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Nothing of what was released is used."""
    side, rounds = yield from train(settings, facts, rng)
    return Trained(ItemSide(side.scale, 0.0, np.ones(facts.n_items), side.factors, side.rule), rounds)


def test_a_release_that_nothing_reads_is_found() -> None:
    broken(suite.check_every_release_matters, method(writes))


def spending(*costs: float, planned: int | None = None, names: str = "ab") -> PrivateMethod:
    """The same query several times, at these parts of the budget."""

    def train_so(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
        asking = train(settings, facts, rng)
        first, said = next(asking), len(costs) if planned is None else planned
        for name, cost in zip(names, costs, strict=False):
            noisy = yield replace(first, name=name, mu=facts.mu * np.sqrt(cost), planned=said)
        return (yield from _end(asking, noisy))

    return method(train_so)


@pytest.mark.parametrize(
    "culprit",
    [spending(0.6), spending(0.5, 0.5, planned=3), spending(0.5, 0.5, names="aa")],
    ids=["too little", "wrong plan", "one name for two"],
)
def test_a_budget_that_is_not_spent_as_it_is_said_is_found(culprit: PrivateMethod) -> None:
    suite.check_charges(record(spending(0.5, 0.5), hostile("implicit")))
    broken(suite.check_charges, culprit)


def test_a_method_that_spends_what_others_have_spent_is_found() -> None:
    def train_so(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
        return (yield from train(settings, replace(facts, mu=facts.budget.mu), rng))

    broken(suite.check_what_is_left, method(train_so))


@dataclass(frozen=True, eq=False)
class Strange(HowMany):
    """A field that cannot be written down."""

    how: Any = len


@pytest.mark.parametrize("kind", [Strange, HowMany])
def test_a_query_that_cannot_travel_or_was_not_announced_is_found(kind: type[HowMany]) -> None:
    def train_so(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
        asking = train(settings, facts, rng)
        noisy = yield kind(**vars(next(asking)))
        return (yield from _end(asking, noisy))

    announced = (kind,) if kind is Strange else (Strange,)
    run = record(method(train_so, queries=announced), hostile("implicit"))
    with pytest.raises((AssertionError, ModelInvalid, TypeError)):
        suite.check_queries_travel(run)


def test_a_query_larger_than_its_method_says_is_found() -> None:
    broken(suite.check_queries_travel, method(numbers=lambda settings, n_items: n_items - 1))


def test_contributions_that_follow_the_price_are_found() -> None:
    class Priced(ShyContributions):
        def contributions(self, query: Any) -> Any:
            few = replace(query.sample, max_ratings=1 if query.mu < 20.0 else 5)
            return super().contributions(replace(query, sample=few))

    broken(suite.check_queries_at_another_cost, method(answers=Priced))
