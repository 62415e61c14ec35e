"""Private prototypes against their promise: replay with a neighbour, and a game, both through the real pipeline.

There is no delta here, and no Gaussian: a release of sums has geometric noise, whose likelihood ratio the attacker
works out exactly and adds up. What a choice among candidates tells is left out: a weaker attack, never an unfair one.

A gate writes down what is private before noise, and plays released outcomes back to a neighbour: two neighbouring silos
that are shown the same outcomes go through the same mechanisms, and what differs is what each bound is about.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.audit.bounds import GameFinding, ReleaseFinding, ReplayFinding, epsilon_of_guesses
from discreet.audit.replay import strangers, together
from discreet.data.ratings import Ratings
from discreet.methods.prototypes.private.rows import TooFewUsers
from discreet.methods.prototypes.private.swap import prototypes_through
from discreet.methods.prototypes.settings import PrototypeSettings, Shares
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.pure.noise import PureNoise, rate_at_most
from discreet.types import Ints

__all__ = [
    "ONE_SIDED",
    "Record",
    "RecordingGate",
    "Tape",
    "audit_prototypes",
    "change",
    "replay_prototypes",
]

ONE_SIDED = ("support", "centre swap", "choice among trials")
"""Releases whose bound is on the largest rise, and that nothing lowers; all others' is on the sum of all changes."""


@dataclass
class Record:
    """One release: its charge and bound, what was private, and what came out."""

    name: str
    epsilon: float
    bound: int
    exact: Any
    released: Any


@dataclass
class Tape:
    """All releases of a run, in order, and what the silo made of them."""

    records: list[Record] = field(default_factory=list)
    outcome: Any = None


class RecordingGate(PureGate):
    """The real gate, written down; with `replay` it gives out another run's outcomes instead of its own."""

    def __init__(self, epsilon: float, noise: PureNoise | None = None, replay: Tape | None = None) -> None:
        super().__init__(PureLedger(epsilon), noise)
        self.tape = Tape()
        self._replay = None if replay is None else iter(replay.records)

    def _release(
        self, name: str, epsilon: float, bound: int, exact: Callable[[], Any], noisy: Callable[[Any], Any]
    ) -> Any:
        private: list[Any] = []

        def recorded() -> Any:
            private.append(exact())
            return private[0]

        def out(value: Any) -> Any:
            own = noisy(value)
            return own if self._replay is None else next(self._replay).released

        released = super()._release(name, epsilon, bound, recorded, out)
        self.tape.records.append(Record(name, epsilon, bound, private[0], released))
        return released


def change(with_user: Record, without: Record) -> tuple[int, int, bool]:
    """How far a release moved before noise: in all (L1), at most in one entry, and whether nothing went down."""
    if with_user.name == "partition level":
        counts: dict[bytes, int] = {}
        for record, sign in ((with_user, 1), (without, -1)):
            for key, count in zip(*record.exact, strict=True):
                counts[key.tobytes()] = counts.get(key.tobytes(), 0) + sign * int(count)
        moved = np.array(list(counts.values()) or [0])
    else:
        moved = np.asarray(with_user.exact - without.exact).ravel()
    return int(np.abs(moved).sum()), int(np.abs(moved).max()), bool((moved >= 0).all())


MakeGate = Callable[[float, Tape | None], RecordingGate]

_SUMS = ("silo count", "values", "sizes")
# Nearly all of epsilon lies in one sum, to which a single item's user brings the whole bound.
_SETTINGS = PrototypeSettings.from_preset(
    "swap",
    prototypes=1,
    users=400,
    max_ratings=1,
    dimension=1,
    depth=1,
    swaps=1,
    support="all",
    minimum_users=1,
    shares=Shares(
        count=0.01, partition=0.005, centres=0.005, support=0.01, values=0.95, sizes=0.01, choice=0.01
    ),
)
# A guess needs a log likelihood ratio of this part of epsilon: the values' share of it and nothing against it.
_SURE = 0.94
# So many that the noisy count seldom refuses the silo.
_OTHERS = 400


def _gate(epsilon: float, replay: Tape | None) -> RecordingGate:
    return RecordingGate(epsilon, replay=replay)


def audit_prototypes(epsilon: float, runs: int, *, risk: float, make_gate: MakeGate = _gate) -> GameFinding:
    """Make a silo's message ``runs`` times with a canary and without, and guess which from its releases."""
    others = _silo(_OTHERS)
    worlds = others, together(others, _silo(1))
    # One cluster of all users: the exact sums are the same in every run of a world, and one replay tells both.
    tape = _message(worlds[0], epsilon, None, make_gate)
    while tape.records[-1].name != _SUMS[-1]:
        tape = _message(worlds[0], epsilon, None, make_gate)
    exact = _exact(tape), _exact(_message(worlds[1], epsilon, tape, make_gate))
    right = wrong = 0
    for world, silo in enumerate(worlds):
        for _ in range(runs):
            ratio = _log_ratio(_message(silo, epsilon, None, make_gate), exact)
            sure = abs(ratio) >= _SURE * epsilon
            right += sure and (ratio > 0.0) == bool(world)
            wrong += sure and (ratio > 0.0) != bool(world)
    spent = sum(record.epsilon for record in tape.records if record.name in _SUMS)
    bounds = {"guesses": epsilon_of_guesses(right, wrong, 2 * runs, 0.0, risk)}
    return GameFinding(epsilon, 0.0, runs, spent / epsilon, bounds, risk)


def replay_prototypes(
    ratings: Ratings, epsilon: float, settings: PrototypeSettings, *, seed: int = 0
) -> ReplayFinding:
    """Record a silo's message, and replay it with synthetic users added to it."""
    tape = _record(ratings, epsilon, settings, None)
    coming = strangers(ratings, seed)
    worst = [0.0] * len(tape.records)
    alone = True
    for place in range(coming.n_users):
        more = together(ratings, coming.take_users([place]))
        other = _record(more, epsilon, settings, tape)
        alone = alone and _same_outcome(tape.outcome, other.outcome)
        for number, (before, after) in enumerate(zip(tape.records, other.records, strict=True)):
            total, largest, rose = change(after, before)
            one_sided = before.name in ONE_SIDED
            alone = alone and (rose or not one_sided)
            worst[number] = max(worst[number], (largest if one_sided else total) / before.bound)
    releases = tuple(
        ReleaseFinding(record.name, record.epsilon, ratio)
        for record, ratio in zip(tape.records, worst, strict=True)
    )
    return ReplayFinding(releases, alone, {}, coming.n_users)


def _record(ratings: Ratings, epsilon: float, settings: PrototypeSettings, replay: Tape | None) -> Tape:
    gate = _gate(epsilon, replay)
    gate.tape.outcome = prototypes_through(gate, ratings, epsilon, settings)
    return gate.tape


def _same_outcome(one: Any, other: Any) -> bool:
    """Whether two runs that were shown the same releases send the same message."""
    return one.cells == other.cells and all(
        np.array_equal(getattr(one.prototypes, name), getattr(other.prototypes, name))
        for name in ("values", "mask", "weights")
    )


def _message(ratings: Ratings, epsilon: float, replay: Tape | None, make_gate: MakeGate) -> Tape:
    gate = make_gate(epsilon, replay)
    with suppress(TooFewUsers):  # the noisy count said so: the run ends there
        prototypes_through(gate, ratings, epsilon, _SETTINGS)
    return gate.tape


def _exact(tape: Tape) -> dict[str, Ints]:
    return {record.name: record.exact for record in tape.records if record.name in _SUMS}


def _log_ratio(tape: Tape, exact: tuple[dict[str, Ints], dict[str, Ints]]) -> float:
    """Log likelihood ratio of all sums that were released: with the canary over without."""
    ratio = 0.0
    for record in tape.records:
        if record.name in _SUMS:
            rate = float(rate_at_most(record.epsilon / record.bound))
            without, present = (np.abs(record.released - known[record.name]) for known in exact)
            ratio += rate * float((without - present).sum())
    return ratio


def _silo(users: int) -> Ratings:
    """Everybody rated the one item, at the top of the scale."""
    return Ratings.from_arrays(
        np.arange(users + 1),
        np.zeros(users, int),
        np.full(users, 5.0),
        catalogue=[0],
        rating_range=(0.0, 5.0),
    )
