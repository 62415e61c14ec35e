"""All tests of one method's promise: what is asked for is run, and the numbers stand beside the claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.bounds import GameFinding, ReplayFinding
from discreet.audit.game import RISK, judge, play
from discreet.audit.pure import audit_devices, audit_prototypes, replay_prototypes
from discreet.audit.replay import replay
from discreet.audit.two_runs import PLAYED, audit_two_runs
from discreet.data.ratings import Ratings
from discreet.data.synthetic import market
from discreet.devices.task import METHOD as DEVICES
from discreet.errors import BudgetInvalid, RatingsInvalid, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.registry import METHODS, find_method
from discreet.privacy.budget import Budget

__all__ = ["DEVICES", "PROTOTYPES", "QUICK", "RUNS", "TESTS", "Audit", "audit", "audited_methods"]

PROTOTYPES = "prototypes"
TESTS = ("replay", "game")

RUNS, QUICK = 100_000, 2_000
"""Runs of a game in each world; the few catch noise that is off by a fifth, in seconds instead of minutes."""

# Enough for nine tenths of a tight claim; two runs take twice as long as one.
_TWO_RUNS = 2_000


@dataclass(frozen=True)
class Audit:
    """What all tests found about a promise: replays by kind of feedback, games by name."""

    method: str
    claimed: float
    delta: float
    replays: Mapping[str, ReplayFinding]
    games: Mapping[str, GameFinding]

    @property
    def lower_bound(self) -> float | None:
        """The lower bound on the epsilon that was claimed; ``None`` where no game was played.

        Games of two runs are about what both cost together, which is more: each has a claim and a bound of its own.
        """
        game = self.games.get("game")
        return None if game is None else game.lower_bound

    @property
    def passed(self) -> bool:
        """Whether nothing refutes the claim."""
        replayed = all(finding.passed for finding in self.replays.values())
        return replayed and all(finding.passed for finding in self.games.values())

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "method": self.method,
            "claimed": self.claimed,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "passed": self.passed,
            "replay": {kind: finding.as_json() for kind, finding in self.replays.items()},
            "games": {name: finding.as_json() for name, finding in self.games.items()},
        }


def audited_methods() -> list[str]:
    """Names of everything that makes a promise: all private methods, prototypes and devices."""
    private = [name for name in METHODS if issubclass(METHODS[name], PrivateMethod)]
    return [*private, PROTOTYPES, DEVICES]


def audit(
    name: str, epsilon: float, delta: float, tests: Sequence[str], runs: int = RUNS, workers: int = 1
) -> Audit:
    """Try to refute that ``name`` is (epsilon, delta)-private; ``workers`` processes play."""
    if name in (PROTOTYPES, DEVICES):
        return _audit_pure(name, epsilon, delta, tests, runs)
    found = find_method(name)
    if not issubclass(found, PrivateMethod):
        raise SettingsInvalid(
            f"{name} is not private, so there is no promise to audit; there are {', '.join(audited_methods())}"
        )
    method, budget = found(), Budget(epsilon, delta)
    games: dict[str, GameFinding] = {}
    if "game" in tests:
        games["game"] = judge(play(name, budget, runs, workers=workers), budget)
        few = min(runs, _TWO_RUNS)
        games |= {f"game, {pair}": audit_two_runs(pair, budget, few) for pair in PLAYED.get(name, ())}
    replays = _replays(method, budget) if "replay" in tests else {}
    return Audit(name, budget.epsilon, budget.delta, replays, games)


def _audit_pure(name: str, epsilon: float, delta: float, tests: Sequence[str], runs: int) -> Audit:
    if delta != 0.0:
        raise BudgetInvalid(f"{name} promises epsilon without delta; leave --delta out, or give 0")
    if not 0.0 < epsilon < np.inf:
        raise BudgetInvalid(f"epsilon must be above zero and finite, got {epsilon}")
    replays: dict[str, ReplayFinding] = {}
    games: dict[str, GameFinding] = {}
    if "replay" in tests and name == PROTOTYPES:
        settings = PrototypeSettings.from_preset(
            "swap", prototypes=3, users=1_000, support=10, minimum_users=1
        )
        replays["explicit"] = replay_prototypes(_market(explicit=True), epsilon, settings)
    if "game" in tests:
        play_pure = audit_prototypes if name == PROTOTYPES else audit_devices
        games["game"] = play_pure(epsilon, runs, risk=RISK)
    return Audit(name, epsilon, 0.0, replays, games)


def _replays(method: PrivateMethod, budget: Budget) -> dict[str, ReplayFinding]:
    """On ratings and on clicks, where the method learns from them."""
    found = {}
    for kind in ("explicit", "implicit"):
        try:
            found[kind] = replay(method, _market(explicit=kind == "explicit"), budget)
        except RatingsInvalid:
            continue  # in the method's own words: it has no use for this kind
    return found


def _market(*, explicit: bool) -> Ratings:
    some = market(1_000, 60, 12_000, rng=0)
    if explicit:
        return some
    return Ratings.from_arrays(
        some.indptr, some.items, np.ones(some.n_ratings), catalogue=some.catalogue, rating_range=None
    )
