"""The game against a device: its own code answers for one of two people, and the collector tells whose ratings it has.

The collector knows both people's ratings, the pseudonym, every question; it does not know the coins. Both are chosen so
that every question's sign differs between them: then every bit of the transcript tells them apart as well as randomised
response lets it. Relation: one person's ratings are replaced by the other's. There is no delta.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.audit.bounds import GameFinding, clopper_pearson, epsilon_of_guesses
from discreet.devices.device.answer import answer, truth
from discreet.devices.device.question import Question
from discreet.devices.learner import Estimate, Learner

__all__ = ["audit_devices"]

Person = Mapping[int, float]
Answer = Callable[[Question, Person, bytes], int]

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
