"""All ways to learn from silos: each of epsilon, number of prototypes and latent dimension varies, one at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.methods.als import ALS
from discreet.methods.budgeted.private.contributions import BudgetedALS
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import factorise
from discreet.methods.prototypes.settings import FactorSettings
from discreet.privacy.budget import Budget
from discreet.privacy.statement import state_over_silos
from reproduction.scoring import Draws
from reproduction.silos.methods import (
    DELTA,
    Predictor,
    Score,
    central_factors,
    federate,
    k_means_message,
    levels,
    private_messages,
    random_message,
    score,
    with_side,
)
from reproduction.silos.worlds import SiloWorld

CENTRAL, ALONE = "central NMF (not private)", "silo alone, NMF"
ALS_CENTRAL, BEST_OPEN = "central ALS (not private)", "best without privacy (ALS or means)"
K_MEANS, RANDOM = "k-means (not private)", "random users (not private)"
FEDERATED, POOLED = "federated ALS", "central private ALS"


@dataclass(frozen=True)
class Point:
    """One method at one setting; what it has none of is None."""

    method: str
    k: int | None = None
    rank: int | None = None
    epsilon: float | None = None
    penalty: float | None = None


@dataclass(frozen=True)
class Design:
    """All points around a centre: epsilon, k and l, of which each is tried with the centres of the others.

    At `k_epsilons` k varies. Prototypes are settings of each private way to make them, by its name; `penalty` is the
    lambda of all factorisations, and `rounds` are passes of those without privacy.
    """

    epsilons: Sequence[float]
    ks: Sequence[int]
    ranks: Sequence[int]
    epsilon: float
    k: int
    rank: int
    k_epsilons: Sequence[float]
    prototypes: Mapping[str, Mapping[str, Any]]
    penalty: float = 0.1
    draws: int = 2
    rounds: int = 10

    def points(self) -> list[Point]:
        """Everything to run, each once."""
        found = self._not_private()
        for name in self.prototypes:
            found += [Point(name, self.k, self.rank, e, self.penalty) for e in self.epsilons]
            found += [Point(name, k, self.rank, e, self.penalty) for k in self.ks for e in self.k_epsilons]
            found += [Point(name, self.k, rank, self.epsilon, self.penalty) for rank in self.ranks]
        for name in (FEDERATED, POOLED):
            found += [Point(name, epsilon=e) for e in self.epsilons]
        return list(dict.fromkeys(found))

    def _not_private(self) -> list[Point]:
        found = [
            Point(name, rank=rank, penalty=self.penalty) for name in (CENTRAL, ALONE) for rank in self.ranks
        ]
        found += [Point(ALS_CENTRAL, rank=rank) for rank in self.ranks]
        found.append(Point(BEST_OPEN))
        for name in (K_MEANS, RANDOM):
            found += [Point(name, k, self.rank, None, self.penalty) for k in self.ks]
            found += [Point(name, self.k, rank, None, self.penalty) for rank in self.ranks]
        return found


_K_MEANS_ROUNDS = 8


@dataclass(frozen=True)
class Line:
    """What a point gave, draw by draw; no scores where every draw was refused."""

    point: Point
    scores: tuple[Score, ...]
    delta: float | None = None
    silos: float | None = None
    distinct: float | None = None
    chosen: float | None = None
    settings: str = ""

    def draws(self, which: str) -> Draws:
        """``"train"``, ``"test"`` or ``"rank"``."""
        return Draws(tuple(getattr(one, which) for one in self.scores))

    def mean(self, which: str) -> float:
        """Over all draws."""
        return self.draws(which).mean


@dataclass
class _Runner:
    world: SiloWorld
    design: Design
    seed: int
    messages: dict[tuple[Any, ...], list[PrototypeMessage]] = field(default_factory=dict)

    def line(self, point: Point) -> Line:
        """Run a point as often as it takes."""
        if point.method == BEST_OPEN:
            return self._best_open(point)
        draws = 1 if point.epsilon is None else self.design.draws
        if point.k is not None:
            return self._with_messages(point, draws)
        scores, ranks = [], []
        for draw in range(draws):
            try:
                predictor, rank = self._train(point, self.seed + draw)
            except DiscreetError:  # a budget too small to train at all
                continue
            scores.append(score(self.world, predictor))
            ranks.append(rank)
        if point.epsilon is None:
            return Line(point, tuple(scores))
        chosen = sum(ranks) / len(ranks) if ranks else None
        return Line(point, tuple(scores), DELTA, chosen=chosen)

    def _settings(self, point: Point) -> FactorSettings:
        rank, penalty = point.rank or self.design.rank, point.penalty or self.design.penalty
        return FactorSettings(rank=rank, rounds=self.design.rounds, penalty=penalty, user_penalty=penalty)

    def _train(self, point: Point, seed: int) -> tuple[Predictor, int]:
        world, settings = self.world, self._settings(point)
        if point.method == CENTRAL:
            return with_side(central_factors(world.train, settings, seed)), settings.rank
        if point.method == ALONE:
            own = [central_factors(part, settings, seed) for part in world.parts]
            return with_side(own), settings.rank
        if point.method == ALS_CENTRAL:
            exact = ALS(rank=settings.rank, rounds=settings.rounds).fit(world.train, rng=seed)
            return with_side(exact.model_.factors), settings.rank
        assert point.epsilon is not None
        if point.method == POOLED:
            fitted = BudgetedALS().fit(world.clipped_train(), Budget(point.epsilon, DELTA), rng=seed)
            side = fitted.model_.factors
        else:
            side = federate(world.clipped(), point.epsilon, seed).factors
        return with_side(side), side.rank

    def _with_messages(self, point: Point, draws: int) -> Line:
        settings = self._settings(point)
        scores, silos, distinct = [], [], []
        delta = None
        for draw in range(draws):
            messages = self._messages(point, draw)
            silos.append(float(len(messages)))
            if not messages:
                continue
            distinct.append(float(np.mean([len(np.unique(m.values, axis=0)) for m in messages])))
            scores.append(score(self.world, with_side(factorise(messages, settings, self.seed + draw))))
            delta = state_over_silos([message.statement for message in messages]).delta
        each = Draws(tuple(distinct)).mean
        taking_part = Draws(tuple(silos)).mean
        return Line(point, tuple(scores), delta, taking_part, None if math.isnan(each) else each)

    def _best_open(self, point: Point) -> Line:
        """ALS or a mean, chosen on the training ratings alone, split once more; scored like everything else."""

        def open_score(world: SiloWorld) -> Score:
            return score(world, with_side(ALS().fit(world.train, rng=self.seed).model_.factors))

        als = open_score(self.world.inner).test
        simple = {name: one.test for name, one in levels(self.world.inner).items() if one.test < als}
        if simple:
            name = min(simple, key=lambda name: simple[name])
            return Line(point, (levels(self.world)[name],), settings=name)
        return Line(point, (open_score(self.world),))

    def _messages(self, point: Point, draw: int) -> list[PrototypeMessage]:
        key = (point.method, point.k, point.epsilon, draw)
        if key not in self.messages:
            self.messages[key] = self._fresh_messages(point)
        return self.messages[key]

    def _fresh_messages(self, point: Point) -> list[PrototypeMessage]:
        parts, k = self.world.parts, point.k
        assert k is not None
        if point.method == K_MEANS:
            return [k_means_message(part, k, self.seed, rounds=_K_MEANS_ROUNDS) for part in parts]
        if point.method == RANDOM:
            return [random_message(part, k, self.seed) for part in parts]
        assert point.epsilon is not None
        settings = {"users": self.world.order, "minimum_users": 1, **self.design.prototypes[point.method]}
        return private_messages(parts, point.epsilon, {"prototypes": k, **settings})


def run_all(
    world: SiloWorld, design: Design, seed: int, report: Callable[[str, int, int], None], stage: str
) -> list[Line]:
    """Run the design; what is free comes first."""
    lines = [Line(Point(name), (found,)) for name, found in levels(world).items()]
    runner, points = _Runner(world, design, seed), design.points()
    for number, point in enumerate(points):
        lines.append(runner.line(point))
        report(stage, number + 1, len(points))
    return lines
