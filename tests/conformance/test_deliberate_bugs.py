"""The suite has power: every way to break a promise that we could think of turns a check red.

All of them are made of one small honest method, broken in one place.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import FrankWolfe, ProjectedGradient, Ratings
from discreet.engines.memory import MemoryEngine
from discreet.errors import BudgetExceeded, ModelInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.public import protocol
from discreet.methods.public.half import Facts, Queries
from discreet.methods.public.query import Query, Trained
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian import noise
from discreet.privacy.gaussian.blocks import COUNT, MARGIN, Pattern
from discreet.privacy.gaussian.clipped import ItemCounts, NoisyCounts
from discreet.privacy.gaussian.item_blocks import ItemWeight
from tests.conformance import suite
from tests.conformance.cases import hostile, town
from tests.conformance.own_method import HowMany, ShyContributions, ShyPopularity, ShySettings, train
from tests.conformance.runs import DividedEngine, Run, record

HONEST = ShyPopularity.public_half


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite must find the bugs by itself, without what the engine computes again."""
    monkeypatch.setattr(MemoryEngine, "_check_sample", lambda *_: None)


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


class LooksAtOthers(ShyContributions):
    """The least rated item of all users' is left out: what one hands in depends on who else is there."""

    def __init__(self, ratings: Ratings) -> None:
        counts = np.bincount(ratings.items, minlength=ratings.n_items)
        super().__init__(ratings.keep(ratings.items != counts.argmin()))


class LeavesTheLastOut(ShyContributions):
    """An off-by-one over users: harmless for the bound, but not the same for every division and order of users."""

    def __init__(self, ratings: Ratings) -> None:
        super().__init__(ratings.take_users(slice(0, max(ratings.n_users - 1, 0))))


class Stale(ShyContributions):
    """A cache that is never compared with the query."""

    def contributions(self, query: HowMany) -> Any:
        self._sample = getattr(self, "_sample", query.sample)
        return super().contributions(replace(query, sample=self._sample))


class Counts(ItemCounts):
    """Bounds a user as if there were a fourth of the items: half of the noise that is needed."""

    def blocks(self, pattern: Pattern) -> list[Any]:
        unit = COUNT * np.sqrt(self.max_ratings) / 2.0
        weights = np.full(pattern.n_users, int(COUNT * MARGIN), dtype=np.int32)
        return [ItemWeight("counts", unit, pattern, np.ones(pattern.n_items), weights)]


class Liar(ItemWeight):
    """A block that says that everybody is small: the gate lets everything through."""

    def energies(self) -> np.ndarray:
        return np.zeros(self.pattern.n_users)


class HiddenCounts(Counts):
    def blocks(self, pattern: Pattern) -> list[Any]:
        return [Liar(**vars(block)) for block in super().blocks(pattern)]


class Timid(ItemCounts):
    """Ten times the noise that is needed."""

    def blocks(self, pattern: Pattern) -> list[Any]:
        return [replace(block, unit=10.0 * block.unit) for block in super().blocks(pattern)]  # type: ignore[type-var]


def asking(mechanism: type[ItemCounts]) -> PrivateMethod:
    @dataclass(frozen=True, eq=False)
    class Other(HowMany):
        @property
        def mechanism(self) -> ItemCounts:
            return mechanism(self.n_items, self.sample.max_ratings)

    def train_other(settings: ShySettings, facts: Facts, rng: np.random.Generator) -> Queries:
        asking = train(settings, facts, rng)
        query = next(asking)
        noisy = yield Other(**{**vars(query), "planned": 1})
        return (yield from _end(asking, noisy))

    return method(train_other, queries=(Other,))


def _end(asking: Queries, noisy: NoisyCounts) -> Queries:
    try:
        asking.send(noisy)
    except StopIteration as end:
        trained: Trained = end.value
        return trained
    raise AssertionError
    yield


@pytest.mark.parametrize(
    "culprit",
    [method(answers=LooksAtOthers), asking(Counts), asking(HiddenCounts), asking(Timid)],
    ids=["looks at others", "too small a bound", "says that it is small", "too much noise"],
)
@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_a_user_who_counts_for_more_or_moves_others_is_found(culprit: PrivateMethod, kind: str) -> None:
    broken(lambda run: suite.check_neighbours(run, reached=0.9), culprit, kind)


def test_what_a_user_hands_in_because_of_others_is_found() -> None:
    broken(suite.check_a_users_numbers_are_their_own, method(answers=LooksAtOthers))


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


@pytest.mark.parametrize("culprit", [LeavesTheLastOut, LooksAtOthers])
def test_a_private_half_that_does_not_add_up_is_found(culprit: type[Any]) -> None:
    broken(lambda run: suite.check_engine(run, DividedEngine), method(answers=culprit))


def test_a_private_half_that_depends_on_the_order_of_users_is_found() -> None:
    broken(suite.check_threads_and_order, method(answers=LeavesTheLastOut))


def test_a_cache_that_is_not_compared_with_the_query_is_found() -> None:
    broken(suite.check_caches, method(answers=Stale))


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


class TellsInSettings(ShyPopularity):
    """Says in the model's description how many users there were."""

    def fit(self, ratings: Ratings, *arguments: Any, **options: Any) -> Any:
        super().fit(ratings, *arguments, **options)
        self.model_.settings["users"] = ratings.n_users
        return self


@pytest.mark.parametrize(
    "culprit", [method(listens, Tells), Peeks(), TellsInSettings()], ids=["tells", "peeks", "describes"]
)
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


def test_a_method_that_spends_too_much_does_not_come_to_its_end() -> None:
    with pytest.raises(BudgetExceeded, match=r"only mu .* is left"):
        record(spending(0.6, 0.6), hostile("implicit"))


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


@pytest.mark.parametrize("cls", [FrankWolfe, ProjectedGradient])
def test_a_cache_of_ours_that_is_never_compared_is_found(
    cls: type[PrivateMethod], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record(cls(rounds=3, row_clip=1.0), hostile("explicit"))
    suite.check_caches(run)
    monkeypatch.setattr(sys.modules[cls.private_half.__module__], "_continues", lambda *_: True)
    with pytest.raises(AssertionError):
        suite.check_caches(run)


def test_repeats_that_are_paid_out_of_nothing_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = record(spending(0.2, 0.8), hostile("implicit"))
    suite.check_repeats(run)
    suite.check_repeated_many_times(run)
    monkeypatch.setattr(protocol._Position, "_repeat", lambda *_: None)
    for check in (suite.check_repeats, suite.check_repeated_many_times):
        with pytest.raises((AssertionError, BudgetExceeded)):
            check(run)


def test_an_engine_that_forgets_somebody_is_found() -> None:
    run = record(ShyPopularity(), hostile("implicit"))
    with pytest.raises(AssertionError):
        suite.check_engine(run, lambda half, ratings: DividedEngine(half, ratings.take_users(slice(1, None))))


def test_noise_that_follows_the_seed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    data = town("implicit")
    suite.check_statement(ShyPopularity(), data)
    monkeypatch.setattr(noise, "secrets", SimpleNamespace(randbits=lambda bits: 7))
    with pytest.raises(AssertionError, match="seed reached the noise"):
        suite.check_statement(ShyPopularity(), data)
