"""All ways to learn from silos, run and scored alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, RatingsInvalid
from discreet.methods.als import ALS
from discreet.methods.budgeted.estimator import BudgetedALS
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import factorise
from discreet.methods.prototypes.settings import FactorSettings
from discreet.privacy.budget import Budget
from discreet.privacy.combined import state_over_silos
from reproduction.central.yardstick import FIRST
from reproduction.progress import Progress
from reproduction.scoring import Draws
from reproduction.silos.design import (
    ALONE,
    ALS_CENTRAL,
    BEST_OPEN,
    CENTRAL,
    K_MEANS,
    POOLED,
    RANDOM,
    TUNED,
    Design,
    Point,
)
from reproduction.silos.methods import (
    DELTA,
    Predictor,
    Score,
    federate,
    levels,
    private_messages,
    score,
    with_side,
)
from reproduction.silos.references import central_factors, k_means_message, random_message
from reproduction.silos.worlds import SiloWorld
from reproduction.tuning import Space, choice, log_integer, log_uniform, search

_K_MEANS_ROUNDS = 8
_ALS: Space = {
    "rank": log_integer(1, 32),
    "penalty": log_uniform(0.01, 3.0),
    "offset_penalty": log_uniform(0.02, 3.0),
    "rounds": choice((10, 15)),
}
"""What is searched for ALS without privacy; counts are noisier than ratings and want larger penalties."""


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
        if point.method in (TUNED, BEST_OPEN):
            return self._tuned(point)
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
            rank = "auto" if point.rank is None else point.rank
            side = federate(world.clipped(), point.epsilon, seed, rank=rank).factors
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

    def _tuned(self, point: Point) -> Line:
        """Settings chosen on the training ratings alone, split once more; scored like everything else."""
        inner = _Runner(self.world.inner, self.design, self.seed)
        attempt = _Runner.with_als if point.method == BEST_OPEN else _Runner.with_prototypes
        space, first = (_ALS, FIRST) if point.method == BEST_OPEN else (self._space(), ())

        def error(settings: Mapping[str, Any]) -> float:
            return attempt(inner, point, settings, 0)[0].test

        rng = np.random.default_rng([self.seed, 1])
        try:
            found = search(lambda **settings: settings, space, self.design.trials, error, rng, first=first)
        except DiscreetError:  # refused at every setting: a budget too small to train at all
            return Line(point, (), None if point.epsilon is None else DELTA)
        if point.method == BEST_OPEN:
            simple = {
                name: one.test for name, one in levels(self.world.inner).items() if one.test < found.value
            }
            if simple:
                name = min(simple, key=lambda name: simple[name])
                return Line(point, (levels(self.world)[name],), settings=name)
        draws = 1 if point.epsilon is None else self.design.draws
        runs = [attempt(self, point, found.settings, draw) for draw in range(draws)]
        said = ", ".join(f"{name} {value:.3g}" for name, value in found.settings.items())
        return Line(point, tuple(run[0] for run in runs), runs[0][1], settings=said)

    def _space(self) -> Space:
        return {
            "k": choice(tuple(self.design.ks)),
            "rank": choice(tuple(self.design.ranks)),
            "penalty": log_uniform(0.03, 30.0),
        }

    def with_als(self, _: Point, settings: Mapping[str, Any], draw: int) -> tuple[Score, float | None]:
        """ALS with all data in one place, not private."""
        fitted = ALS(**settings).fit(self.world.train, rng=self.seed + draw)
        return score(self.world, with_side(fitted.model_.factors)), None

    def with_prototypes(
        self, point: Point, settings: Mapping[str, Any], draw: int
    ) -> tuple[Score, float | None]:
        """The tuned way to make prototypes; messages of the same k and epsilon serve several trials."""
        assert self.design.tuned is not None
        messages = self._messages(replace(point, method=self.design.tuned, k=settings["k"]), draw)
        if not messages:
            raise RatingsInvalid("every silo was refused")
        chosen = self._settings(replace(point, rank=settings["rank"], penalty=settings["penalty"]))
        found = score(self.world, with_side(factorise(messages, chosen, self.seed + draw)))
        return found, state_over_silos([message.statement for message in messages]).delta

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
    world: SiloWorld,
    design: Design,
    seed: int,
    report: Callable[[str, int, int], None],
    stage: str,
    progress: Progress | None = None,
) -> list[Line]:
    """Run the design; what is free comes first. What was done before an interruption is not done again."""
    kept = Progress() if progress is None else progress
    lines = [Line(Point(name), (found,)) for name, found in levels(world).items()]
    runner, points = _Runner(world, design, seed), design.points()
    for number, point in enumerate(points):
        found = dict(kept.once(repr(point), partial(_run_one, runner, point)))
        lines.append(Line(point, tuple(Score(**one) for one in found.pop("scores")), **found))
        report(stage, number + 1, len(points))
    return lines


def _run_one(runner: _Runner, point: Point) -> dict[str, Any]:
    return {name: value for name, value in asdict(runner.line(point)).items() if name != "point"}
