"""The central promise of a shuffled task: never below what exact divergences say, and said with all it rests on."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from discreet.devices.schedule import Schedule
from discreet.devices.settings import DeviceSettings
from discreet.devices.shuffle import ShuffleTerms, amplified, amplify
from discreet.devices.statement import state_task
from discreet.privacy.local.coin import Coin


def ones(bits: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Law of the number of ones among shuffled randomised responses, exactly."""
    keep = 1 / (1 + math.exp(-epsilon))
    law = np.array([1.0])
    for bit in bits:
        law = np.convolve(law, [1 - keep, keep] if bit else [keep, 1 - keep])
    return law


def exact_epsilon(here: np.ndarray, there: np.ndarray, delta: float) -> float:
    """The smallest epsilon at which the two laws are told apart with no more than delta, both ways."""
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        worst = max(
            np.maximum(a - math.exp(middle) * b, 0.0).sum() for a, b in ((here, there), (there, here))
        )
        low, high = (low, middle) if worst <= delta else (middle, high)
    return low


@pytest.mark.parametrize("cost", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("batch", [2, 5])
@pytest.mark.parametrize("answers", [1, 2])
def test_the_stated_epsilon_is_never_below_an_exact_one(cost: float, batch: int, answers: int) -> None:
    """All answers of one device, each among others' in a batch of its own: the product of the laws, computed whole."""
    for delta in (0.3, 0.05, 1e-3):
        stated = amplify(cost, answers, ShuffleTerms(batch=batch, delta=delta)).epsilon
        worst = 0.0
        for others in product(range(batch), repeat=answers):  # how many ones the others send in each batch
            crowds = [(1,) * count + (0,) * (batch - 1 - count) for count in others]
            for mine in product((0, 1), repeat=answers):
                here, there = np.array([1.0]), np.array([1.0])
                for bit, crowd in zip(mine, crowds, strict=True):
                    here = np.outer(here, ones((bit, *crowd), cost)).ravel()
                    there = np.outer(there, ones((1 - bit, *crowd), cost)).ravel()
                worst = max(worst, exact_epsilon(here, there, delta))
        assert worst <= stated + 1e-9
        if delta == 1e-3:
            assert stated <= answers * cost * (1.0 + 1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 9.0])
def test_a_task_pays_for_every_answer_a_device_gives(epsilon: float) -> None:
    schedule = Schedule(DeviceSettings(), epsilon)
    terms = ShuffleTerms(batch=20_000, delta=1e-7)
    whole = amplified(schedule, terms)
    assert whole.answers == schedule.passes
    assert whole == amplify(schedule.cost, schedule.passes, terms)
    assert whole.epsilon < epsilon
    first = amplified(schedule, terms, asked=1)
    assert first.answers == 1
    assert first.epsilon <= whole.epsilon


def test_the_statement_names_the_central_epsilon_and_what_it_rests_on() -> None:
    schedule, terms = Schedule(DeviceSettings(), 4.0), ShuffleTerms(batch=30_000, delta=1e-7)
    statement = state_task(schedule, 8, shuffle=terms)
    (note,) = statement.notes
    promise = amplified(schedule, terms)
    said = float(note.partition("central epsilon ")[2].partition(" ")[0])
    assert promise.epsilon <= said <= 1.001 * promise.epsilon
    for words in (
        "delta 1e-07",
        "all 2 answers",
        "do not work together",
        "at least 30000 reports",
        "local epsilon",
    ):
        assert words in note
    assert statement.epsilon == 4.0
    assert note in str(statement).replace("\n  ", " ") or "through the shuffler" in str(statement)
    assert state_task(schedule, 8).notes == ()
    assert state_task(schedule, 8, Coin.fixed_key_not_private(1), shuffle=terms).notes == ()


def test_few_reports_promise_no_more_than_the_local_epsilon() -> None:
    found = amplify(4.0, 2, ShuffleTerms(batch=2, delta=1e-9))
    assert found.epsilon == pytest.approx(8.0)
    with pytest.raises(ValueError):
        ShuffleTerms(batch=1)
