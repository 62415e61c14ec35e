"""All ways to learn from silos, against epsilon, number of prototypes and latent dimension, one at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.central.als import ALS
from discreet.central.budgeted import BudgetedALS
from discreet.errors import DiscreetError
from discreet.experiments.scoring import Draws
from discreet.experiments.silo_methods import (
    DELTA,
    Predictor,
    Score,
    federate,
    levels,
    private_messages,
    score,
    with_factors,
    with_side,
)
from discreet.experiments.silo_worlds import SiloWorld
from discreet.federated.prototypes import (
    FactorSettings,
    PrototypeMessage,
    central_factors,
    factorise,
    k_means_message,
    random_message,
)
from discreet.privacy.budget import Budget
from discreet.settings import BudgetedSettings

__all__ = [
    "ALONE", "ALS_CENTRAL", "CENTRAL", "FEDERATED", "FIXED", "K_MEANS", "POOLED", "RANDOM", "Line", "Plan", "compare",
]  # fmt: skip

CENTRAL, ALONE = "central NMF (not private)", "silo alone, NMF"
ALS_CENTRAL = "central ALS (not private)"
K_MEANS, RANDOM = "k-means (not private)", "random users (not private)"
FEDERATED, FIXED, POOLED = "federated ALS", "federated ALS, rank l", "central private ALS"
_DETERMINED = (CENTRAL, ALONE, ALS_CENTRAL, K_MEANS, RANDOM)


@dataclass(frozen=True)
class Plan:
    """What is run: each of epsilon, k and l varies while the others stay at their centre.

    Parameters
    ----------
    epsilons, ks, ls
        What is tried.
    epsilon, k, l
        The centres.
    k_epsilons
        At which epsilons k varies.
    prototypes
        Settings of each private way to make prototypes, by its name.
    penalty, printed
        The lambda of all factorisations; and the paper's, run at the centre, where it is another.
    draws
        Of each private run.
    rank_epsilon
        Where federated ALS is run at each l as well; None: only at the rank of its own rule.
    pooled
        Whether private ALS with all data in one place is run too.
    """

    epsilons: Sequence[float]
    ks: Sequence[int]
    ls: Sequence[int]
    epsilon: float
    k: int
    l: int  # noqa: E741
    k_epsilons: Sequence[float]
    prototypes: Mapping[str, Mapping[str, Any]]
    penalty: float = 0.1
    printed: float | None = None
    draws: int = 2
    rounds: int = 10
    rank_epsilon: float | None = None
    pooled: bool = True

    def points(self) -> list[Point]:
        """Everything to run, each once; those that share messages stand together."""
        found: list[Point] = []
        for penalty in (self.penalty, *(() if self.printed is None else (self.printed,))):
            ls = self.ls if penalty == self.penalty else (self.l,)
            found += [Point(m, l=l, penalty=penalty) for m in (CENTRAL, ALONE) for l in ls]  # noqa: E741
        found += [Point(ALS_CENTRAL, l=l) for l in self.ls]  # noqa: E741
        for name in (K_MEANS, RANDOM):
            found += [Point(name, k, l, None, self.penalty) for k, l in self._pairs()]  # noqa: E741
        for name in self.prototypes:
            found += [Point(name, self.k, self.l, e, self.penalty) for e in self.epsilons]
            found += [Point(name, k, self.l, e, self.penalty) for k in self.ks for e in self.k_epsilons]
            found += [Point(name, self.k, l, self.epsilon, self.penalty) for l in self.ls]  # noqa: E741
            if self.printed is not None:
                found.append(Point(name, self.k, self.l, self.epsilon, self.printed))
        for name in (FEDERATED, *((POOLED,) if self.pooled else ())):
            found += [Point(name, epsilon=e) for e in self.epsilons]
        if self.rank_epsilon is not None:
            found += [Point(FIXED, l=l, epsilon=self.rank_epsilon) for l in self.ls]  # noqa: E741
        return list(dict.fromkeys(found))

    def _pairs(self) -> Iterator[tuple[int, int]]:
        yield from ((k, self.l) for k in self.ks)
        yield from ((self.k, l) for l in self.ls)  # noqa: E741


@dataclass(frozen=True)
class Point:
    """One method at one setting; what it has none of is None."""

    method: str
    k: int | None = None
    l: int | None = None  # noqa: E741
    epsilon: float | None = None
    penalty: float | None = None


@dataclass(frozen=True)
class Line:
    """What a point gave, draw by draw.

    ``silos`` took part, with ``distinct`` different prototypes each, on average; ``rank`` is what the rule of ALS chose.
    """

    point: Point
    scores: tuple[Score, ...]
    delta: float | None = None
    silos: float | None = None
    distinct: float | None = None
    rank: float | None = None

    def draws(self, which: str) -> Draws:
        """``"train"``, ``"test"`` or ``"rank"``."""
        return Draws(tuple(getattr(one, which) for one in self.scores))

    def mean(self, which: str) -> float:
        """Over all draws; NaN where every run was refused."""
        return self.draws(which).mean


@dataclass
class _Runner:
    world: SiloWorld
    plan: Plan
    seed: int
    messages: dict[tuple[Any, ...], list[PrototypeMessage]] = field(default_factory=dict)

    def line(self, point: Point) -> Line:
        """Run a point as often as it takes."""
        draws = 1 if point.method in _DETERMINED else self.plan.draws
        if point.method in self.plan.prototypes or point.method in (K_MEANS, RANDOM):
            return self._with_messages(point, draws)
        scores, ranks = [], []
        for draw in range(draws):
            try:
                predictor, rank = self._train(point, draw)
            except DiscreetError:
                continue
            scores.append(score(self.world, predictor))
            ranks.append(rank)
        private = point.epsilon is not None
        return Line(
            point, tuple(scores), DELTA if private else None, rank=Draws(tuple(ranks)).mean if private else None
        )

    def _settings(self, point: Point) -> FactorSettings:
        penalty, rank = point.penalty or self.plan.penalty, point.l or self.plan.l
        return FactorSettings(rank=rank, rounds=self.plan.rounds, penalty=penalty, user_penalty=penalty)

    def _train(self, point: Point, draw: int) -> tuple[Predictor, int]:
        world, seed = self.world, self.seed + draw
        if point.method == CENTRAL:
            return with_factors(central_factors(world.train, self._settings(point), seed), self._settings(point)), 0
        if point.method == ALONE:
            own = [central_factors(part, self._settings(point), seed) for part in world.parts]
            return with_factors(own, self._settings(point)), 0
        if point.method == ALS_CENTRAL:
            side = ALS(rank=point.l or self.plan.l, rounds=self.plan.rounds).fit(world.train, rng=seed).model_.item_side
            return with_side(side), side.rank
        assert point.epsilon is not None
        if point.method == POOLED:
            fitted = BudgetedALS().fit(world.clipped_train(), Budget(point.epsilon, DELTA), rng=seed)
            side = fitted.model_.item_side
        else:
            settings = BudgetedSettings() if point.l is None else BudgetedSettings(rank=point.l)
            side = federate(world.clipped(), point.epsilon, seed, settings)[0].item_side
        return with_side(side), side.rank

    def _with_messages(self, point: Point, draws: int) -> Line:
        settings, scores, silos, distinct = self._settings(point), [], [], []
        delta = None
        for draw in range(draws):
            messages = self._messages(point, draw)
            silos.append(len(messages))
            if not messages:
                continue
            distinct.append(float(np.mean([len(np.unique(m.values, axis=0)) for m in messages])))
            factors = factorise(messages, settings, self.seed + draw)
            scores.append(score(self.world, with_factors(factors, settings)))
            delta = factors.delta if factors.private else None
        each = Draws(tuple(distinct)).mean
        return Line(point, tuple(scores), delta, Draws(tuple(silos)).mean, None if math.isnan(each) else each)

    def _messages(self, point: Point, draw: int) -> list[PrototypeMessage]:
        key = (point.method, point.k, point.epsilon, draw)
        if key not in self.messages:
            assert point.k is not None
            parts = self.world.parts
            if point.method == K_MEANS:
                found = [k_means_message(part, point.k, self.seed, rounds=8) for part in parts]
            elif point.method == RANDOM:
                found = [random_message(part, point.k, self.seed) for part in parts]
            else:
                assert point.epsilon is not None
                settings = {"users": self.world.order, "minimum_users": 1, **self.plan.prototypes[point.method]}
                found = private_messages(parts, point.epsilon, {**settings, "prototypes": point.k})
            self.messages[key] = found
        return self.messages[key]


def compare(
    world: SiloWorld, plan: Plan, seed: int, report: Callable[[str, int, int], None], stage: str
) -> list[Line]:
    """Run the plan; the free levels come first."""
    lines = [Line(Point(name), (found,)) for name, found in levels(world).items()]
    runner, points = _Runner(world, plan, seed), plan.points()
    for number, point in enumerate(points):
        lines.append(runner.line(point))
        report(stage, number + 1, len(points))
    return lines
