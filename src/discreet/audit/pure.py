"""Promises without delta: games against a device and against prototypes, and a replay of prototypes.

**Devices.** A device's own code answers for one of two people, and the collector tells whose ratings it has. It knows
both people's ratings, the pseudonym, every question; it does not know the coins. Both are chosen so that every
question's sign differs between them: then every bit of the transcript tells them apart as well as randomised response
lets it. Relation: one person's ratings are replaced by the other's.

**Prototypes.** A release of sums has geometric noise, whose likelihood ratio the attacker works out exactly and adds
up. What a choice among candidates tells is left out: a weaker attack, never an unfair one. For the replay a gate writes
down what is private before noise, and plays released outcomes back to a neighbour: two neighbouring silos that are
shown the same outcomes go through the same mechanisms, and what differs is what each bound is about.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.audit.bounds import (
    GameFinding,
    ReleaseFinding,
    ReplayFinding,
    clopper_pearson,
    epsilon_of_guesses,
)
from discreet.audit.replay import strangers, together
from discreet.data.ratings import Ratings
from discreet.devices.device.answer import answer, truth
from discreet.devices.device.question import Question
from discreet.devices.learner import Estimate, Learner
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
    "audit_devices",
    "audit_prototypes",
    "change",
    "replay_prototypes",
]

Person = Mapping[int, float]
Answer = Callable[[Question, Person, bytes], int]

# Devices.
_ITEMS = 16
_RANGE = (1.0, 5.0)
_SEED = hashlib.sha256(b"discreet/audit/devices").hexdigest()
_TRIES = 100_000


@dataclass(frozen=True)
class _Duel:
    """One pseudonym, all questions it is asked, two people, and the bit that the first one's truth is in each."""

    device_id: bytes
    questions: Sequence[Question]
    people: tuple[Person, Person]
    signs: Sequence[int]


def audit_devices(epsilon: float, runs: int, *, risk: float, reply: Answer = answer) -> GameFinding:
    """Let one device answer a whole task ``runs`` times for each of two people.

    Notes
    -----
    Two lower bounds on epsilon. ``guesses``: the collector names a person where all bits agree; Clopper-Pearson on how
    often that is right and wrong assumes nothing. ``coins``: Clopper-Pearson on how often a bit is flipped, times the
    number of answers; takes the coins for independent.
    """
    duel = _duel(epsilon)
    flips = np.empty((2, runs), dtype=np.int64)
    for world, person in enumerate(duel.people):
        for number in range(runs):
            bits = [reply(question, person, duel.device_id) for question in duel.questions]
            said = sum(bit != sign for bit, sign in zip(bits, duel.signs, strict=True))
            flips[world, number] = said if world == 0 else len(bits) - said
    answers, half = len(duel.questions), 0.5 * risk
    right, wrong = int((flips == 0).sum()), int((flips == answers).sum())
    _, flipped = clopper_pearson(int(flips.sum()), flips.size * answers, half)
    bounds = {
        "guesses": epsilon_of_guesses(right, wrong, flips.size, 0.0, half),
        "coins": answers * max(0.0, math.log((1.0 - flipped) / flipped)) if flipped < 1.0 else 0.0,
    }
    return GameFinding(epsilon, 0.0, runs, 1.0, bounds, risk)


def _duel(epsilon: float) -> _Duel:
    """A pseudonym that is asked, and two people whose truths differ in sign wherever it is."""
    questions = _questions(epsilon)
    device_id = hashlib.sha256(b"discreet/audit/device").digest()[:16]
    asked = [question for question in questions if question.takes_part(device_id)]
    rng = np.random.default_rng(0)
    seen: dict[tuple[int, ...], Person] = {}
    for _ in range(_TRIES):
        items = np.sort(rng.choice(_ITEMS, rng.integers(1, _ITEMS + 1), replace=False)).tolist()
        values = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], len(items)).tolist()
        truths = [truth(question, items, values, device_id) for question in asked]
        if not all(truths):
            continue  # a tie is decided by the coin
        signs = tuple(int(value > 0.0) for value in truths)
        seen.setdefault(signs, dict(zip(items, values, strict=True)))
        opposed = tuple(1 - sign for sign in signs)
        if opposed in seen:
            return _Duel(device_id, asked, (seen[signs], seen[opposed]), signs)
    raise AssertionError("no two people differ in every answer")


def _questions(epsilon: float) -> list[Question]:
    """All questions of a task with the usual settings; none about factors, so estimates change nothing in them."""
    learner, questions = Learner("audit", _ITEMS, _RANGE, epsilon, _SEED), []
    while (question := learner.question()) is not None:
        questions.append(question)
        learner = learner.after(Estimate(np.zeros(question.coordinates), 1))
    return questions


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

# Prototypes.
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
