"""The distinguishing game: production code is run many times with a canary and without, and an attacker tells which.

The attacker has every advantage that the promise allows: all other users' ratings, the canary's, every setting, every
release of the run. Not the noise. Each release is scored along the direction in which the canary moves it, given the
releases before it; the score of a run is the sum, weighed by what the releases cost (``proofs/audit.md``).

Played are miniature instances: a few users, a canary that uses up its bound, settings that let it. A canary is tight
where every release moves by what was charged for it: everything at the top of the scale, and clips so low that every
row reaches them, are what does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np

from discreet import kernels
from discreet.audit.bounds import (
    GameFinding,
    best_threshold,
    epsilon_of_guesses,
    mu_of_means,
    mu_of_noise,
)
from discreet.audit.replay import noise_scales, together, whitened
from discreet.data.ratings import Ratings
from discreet.engines.memory import MemoryEngine
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.methods.method import PrivateMethod, asking
from discreet.methods.public.half import Facts
from discreet.methods.public.protocol import run_protocol
from discreet.methods.public.query import Query, Trained
from discreet.methods.registry import find_method
from discreet.model.start import EarlierSums, Start
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Ledger
from discreet.types import Floats

__all__ = [
    "BATCH",
    "RISK",
    "Attacker",
    "Instance",
    "Scores",
    "Watched",
    "instance_of",
    "judge",
    "play",
    "play_batch",
    "run_once",
    "scored",
]

_RANGE = (1.0, 5.0)


@dataclass(frozen=True)
class Instance:
    """One method on a handful of users, and the one who comes or does not; ``everybody`` is both together.

    ``seed`` is of the ordinary randomness, which is public.
    """

    method: PrivateMethod
    others: Ratings
    canary: Ratings
    everybody: Ratings
    seed: int = 0


@dataclass(frozen=True)
class _Recipe:
    settings: Mapping[str, Any]
    users: int = 3
    items: int = 3


# Where a method is not listed, its defaults are played.
_RECIPES: dict[str, _Recipe] = {
    # The number of users must stand out of the noise for the run to go on, so there are more of them and a larger
    # share of the budget says how many.
    "budgeted": _Recipe({"rank": 1, "rounds": 1, "activity_share": 0.3, "offset_share": 0.5}, users=80),
    "dpals": _Recipe(
        {
            "rank": 1,
            "rounds": 2,
            "max_ratings": 1,
            "row_clip": 1e-3,
            "penalty": 1e-4,
            "typical_ratings": 1.0,
            "centre": "middle",
            "sampling": "uniform",
            "item_exponent": 0.0,
        },
        items=1,
    ),
    "frank-wolfe": _Recipe({"rounds": 2, "row_clip": 0.5, "max_ratings": 3}),
    "svd": _Recipe({"rank": 1, "row_clip": 0.5}),
    "projected-gradient": _Recipe({"rank": 1, "rounds": 2, "row_clip": 0.5}),
}


@cache
def instance_of(name: str, *, users: int | None = None) -> Instance:
    """The miniature instance of a registered method; ``users``: other people than it usually has."""
    found = find_method(name)
    if not issubclass(found, PrivateMethod):
        raise SettingsInvalid(f"{name} is not private: there is no promise to audit")
    recipe = _RECIPES.get(name, _Recipe({}))
    recipe = recipe if users is None else replace(recipe, users=users)
    others, canary = _others(recipe), _users(recipe.items, [np.arange(recipe.items)], [5.0])
    return Instance(found(**recipe.settings), others, canary, together(others, canary))


def _others(recipe: _Recipe) -> Ratings:
    rng = np.random.default_rng(1)
    rows = [rng.permutation(recipe.items)[: max(1, recipe.items - 1)] for _ in range(recipe.users)]
    return _users(recipe.items, [np.sort(row) for row in rows], rng.integers(1, 6, recipe.users).tolist())


def _users(items: int, rows: list[Any], values: list[float]) -> Ratings:
    counts = [len(row) for row in rows]
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(rows),
        np.repeat(np.asarray(values, dtype=np.float64), counts),
        catalogue=np.arange(items),
        rating_range=_RANGE,
    )


BATCH = 2_000
"""Runs in each world that a process is given at once."""

RISK = 1e-5
"""Chance that an honest mechanism is found guilty by one game."""


@dataclass(frozen=True)
class Scores:
    """Scores of runs without the canary and with it, and how far the canary should have moved each run's score."""

    without: Floats
    present: Floats
    shifts_without: Floats
    shifts_present: Floats

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """All runs of several plays of one game."""
        arrays = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(array) for array in arrays))


def play(
    name: str, budget: Budget, runs: int, *, workers: int = 1, noise: Callable[[], Noise] = Noise
) -> Scores:
    """Run the method's miniature instance ``runs`` times in each world; other ``noise`` is a bug to be found."""
    sizes = [min(BATCH, runs - start) for start in range(0, runs, BATCH)]
    if workers == 1:
        return Scores.joined([play_batch(name, budget, size, noise) for size in sizes])
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(play_batch, name, budget, size, noise) for size in sizes]
        return Scores.joined([task.result() for task in tasks])


def judge(scores: Scores, budget: Budget, *, risk: float = RISK) -> GameFinding:
    """Turn scores into lower bounds; each of the three may be wrong with a third of ``risk``."""
    runs, mu, third = len(scores.without), budget.mu, risk / 3.0
    shifts = np.concatenate([scores.shifts_without, scores.shifts_present])
    residuals = np.concatenate([scores.without, scores.present - scores.shifts_present])
    far = best_threshold(mu, 2 * runs, budget.delta, third)
    low, high = 0.5 * mu - far, 0.5 * mu + far
    right = int((scores.present >= high).sum() + (scores.without <= low).sum())
    wrong = int((scores.without >= high).sum() + (scores.present <= low).sum())
    bounds = {
        "means": epsilon_from(mu_of_means(scores.without, scores.present, third), budget.delta),
        "noise": epsilon_from(mu_of_noise(residuals, float(shifts.mean()), third), budget.delta),
        "guesses": epsilon_of_guesses(right, wrong, 2 * runs, budget.delta, third),
    }
    return GameFinding(budget.epsilon, budget.delta, runs, float(shifts.mean()) / mu, bounds, risk)


def play_batch(name: str, budget: Budget, runs: int, noise: Callable[[], Noise] = Noise) -> Scores:
    """The same in this process, in one go."""
    instance = instance_of(name)
    attacker = Attacker(instance, budget.mu)
    return scored(attacker, runs, lambda: run_once(instance, Watched(Ledger(budget), noise(), attacker)))


def scored(attacker: Attacker, runs: int, once: Callable[[], object]) -> Scores:
    """Play ``once`` so many times in each world, before the attacker's eyes."""
    scores, shifts = np.empty((2, runs)), np.empty((2, runs))
    with kernels.threads(1):
        for world in (0, 1):
            for number in range(runs):
                attacker.begin(present=bool(world))
                once()
                scores[world, number], shifts[world, number] = attacker.score, attacker.shift
    return Scores(scores[0], scores[1], shifts[0], shifts[1])


def run_once(instance: Instance, gate: Watched, start: Start | EarlierSums | None = None) -> Trained | None:
    """One run of production code, from the first query to the model, before the attacker's eyes.

    ``None`` where the public half has read in its releases that there is nothing to learn.
    """
    method, others, ledger = instance.method, instance.others, gate.ledger
    known = (None, start) if isinstance(start, EarlierSums) else (start, None)
    facts = Facts(
        others.n_items, others.scale, ledger.budget, ledger.remaining_mu, start=known[0], earlier=known[1]
    )
    rng = np.random.default_rng(instance.seed)
    with suppress(BudgetInvalid):
        return run_protocol(method.public_half, method.settings, facts, rng, asking(gate.attacker, gate))
    return None


class Attacker:
    """The engines of both worlds: the run is given one's totals, and the attacker knows both.

    Everything but the noise is the same in every run up to the first release, so the first totals are kept.
    """

    def __init__(self, instance: Instance, mu: float) -> None:
        half = instance.method.private_half
        self._engines = MemoryEngine(half, instance.others), MemoryEngine(half, instance.everybody)
        self._mu, self.present = mu, False
        self._first: list[list[Total]] | None = None
        self._totals: list[list[Total]] = []
        self.score = self.shift = 0.0

    def begin(self, *, present: bool) -> None:
        """Another run, with the canary or without."""
        self.present, self._totals = present, []
        self.score = self.shift = 0.0

    def totals(self, query: Query[Any]) -> list[Total]:
        """What the engine of this world says."""
        if self._first is None:
            self._first = [engine.totals(query) for engine in self._engines]
        again = bool(self._totals)
        self._totals = [engine.totals(query) for engine in self._engines] if again else self._first
        return self._totals[int(self.present)]

    def know(self, totals: list[list[Total]]) -> None:
        """What both worlds have said to a release that no engine was asked for."""
        self._totals = totals

    def see(self, forms: Sequence[Block], mu: float, released: dict[str, Floats]) -> None:
        """Score a release along the direction in which the canary moves it."""
        scales, (without, present) = noise_scales(forms, mu), self._totals
        moved = [a.value - b.value for a, b in zip(present, without, strict=True)]
        direction = whitened([change.astype(np.float64) for change in moved], scales)
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            return
        left = whitened([released[total.name] - total.value for total in without], scales)
        weight = mu / self._mu
        self.score += weight * float(left @ direction) / length
        self.shift += weight * length


class Watched(Gate):
    """The gate itself; whatever it lets out is shown to the attacker as well, and what came in last is kept."""

    def __init__(self, ledger: Ledger, noise: Noise, attacker: Attacker | None = None) -> None:
        super().__init__(ledger, noise)
        self._attacker, self.totals = attacker, list[Total]()

    @property
    def attacker(self) -> Attacker:
        """Who looks on."""
        assert self._attacker is not None
        return self._attacker

    def release_totals(
        self,
        name: str,
        forms: Sequence[Block],
        totals: Sequence[Total],
        *,
        mu: float,
        delta: float = 0.0,
        noised: bool = False,
    ) -> dict[str, Floats]:
        """The release of the gate, shown to the attacker."""
        self.totals = list(totals)
        released = super().release_totals(name, forms, totals, mu=mu, delta=delta, noised=noised)
        if self._attacker is not None:
            self._attacker.see(forms, mu, released)
        return released
