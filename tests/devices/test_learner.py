"""The course of a task: budget, questions, and what is learnt."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from discreet.devices.device.question import QuestionInvalid
from discreet.devices.empirical_bayes import posterior_means
from discreet.devices.learner import Estimate, Learner, converse
from discreet.devices.schedule import DeviceSettings, Schedule, rotations_for
from discreet.errors import BudgetInvalid, SettingsInvalid
from tests.devices.support.questions import SEED

RATE = DeviceSettings(goal="rate")


@pytest.mark.parametrize(
    ("epsilon", "passes"), [(0.1, 1), (1.0, 1), (3.0, 1), (4.0, 2), (8.0, 4), (100.0, 46)]
)
def test_every_group_is_asked_once_a_pass_within_epsilon(epsilon: float, passes: int) -> None:
    schedule = Schedule(RATE, epsilon)
    assert schedule.passes == passes
    assert passes * Fraction(schedule.cost) <= Fraction(epsilon)
    assert passes * schedule.cost >= 0.999 * epsilon
    for start in range(0, len(schedule.steps), 4):
        one_pass = schedule.steps[start : start + 4]
        assert sorted(step.group for step in one_pass) == [0, 1, 2, 3]
        assert [step.kind for step in one_pass] == ["popularity", "offsets", "offsets", "offsets"]


def test_by_default_everybody_is_asked_for_popularity_at_the_same_cost() -> None:
    told, rated = Schedule(DeviceSettings(), 4.0), Schedule(RATE, 4.0)
    assert [(step.kind, step.group, step.groups) for step in told.steps] == [("popularity", 0, 1)] * 2
    assert (told.passes, told.cost) == (rated.passes, rated.cost)


def test_the_last_rounds_ask_for_factors() -> None:
    told = Schedule(DeviceSettings(goal="rate", factor_rounds=1), 1.0)
    assert [step.kind for step in told.steps] == ["popularity", "offsets", "offsets", "factors"]


@pytest.mark.parametrize(
    "build",
    [
        lambda: Schedule(DeviceSettings(goal="rate", factor_rounds=3, groups=4), 1.0),
        lambda: Schedule(DeviceSettings(factor_rounds=1), 1.0),
        lambda: Schedule(DeviceSettings(passes=1), 21.0),
        lambda: Schedule(DeviceSettings(goal="rate", groups=1), 1.0),
        lambda: rotations_for(8, DeviceSettings(rotations=3)),
        lambda: DeviceSettings.checked(unknown=1),
    ],
)
def test_impossible_settings_are_refused(build) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SettingsInvalid):
        build()


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_impossible_budgets_are_refused(epsilon: float) -> None:
    with pytest.raises(BudgetInvalid):
        Schedule(DeviceSettings(), epsilon)


def test_large_vectors_get_fewer_rotations() -> None:
    assert rotations_for(1 << 15, DeviceSettings()) == 16
    assert rotations_for(1 << 22, DeviceSettings()) == 4
    assert rotations_for(1 << 26, DeviceSettings()) == 1


def test_a_learner_told_the_same_releases_the_same() -> None:
    def run() -> list[bytes]:
        learner = Learner("films", 30, (1.0, 5.0), 8.0, SEED, DeviceSettings(goal="rate", factor_rounds=6))
        rng, seen = np.random.default_rng(1), []
        while (asked := learner.question()) is not None:
            assert asked.round == learner.round + 1
            learner = learner.after(Estimate(0.2 * rng.standard_normal(asked.coordinates), 1000))
            seen.append(learner.released())
        return seen

    assert run() == run()


def test_a_conversation_that_is_replayed_goes_on_with_the_same_questions() -> None:
    """A collector stores estimates and nothing else; the generator and its moments ask the same to the last bit."""
    settings = DeviceSettings(goal="rate", factor_rounds=6)
    start = Learner("films", 30, (1.0, 5.0), 8.0, SEED, settings)
    rng, told, asked = np.random.default_rng(1), [], []
    conversation = converse(start)
    turn = next(conversation)
    while True:
        asked.append((turn.question.to_json(), turn.released()))
        told.append(Estimate(0.2 * rng.standard_normal(turn.question.coordinates), 1000))
        try:
            turn = conversation.send(told[-1])
        except StopIteration as end:
            side = end.value
            break
    for stopped in range(len(told) + 1):
        again = reduce(Learner.after, told[:stopped], start)
        question = again.question()
        if question is None:
            np.testing.assert_array_equal(again.item_side().factors, side.factors)
        else:
            assert (question.to_json(), again.released()) == asked[stopped]
    assert stopped == len(asked) == 16


@pytest.mark.parametrize(
    ("items", "settings"),
    [
        (1 << 22, DeviceSettings(goal="rate", groups=4, passes=1, rank=64, factor_rounds=1)),
        (1 << 22, DeviceSettings(groups=2, passes=1, rotations=256)),
    ],
)
def test_a_task_with_a_question_too_large_to_ask_is_refused_at_once(
    items: int, settings: DeviceSettings
) -> None:
    with pytest.raises((SettingsInvalid, QuestionInvalid)):
        Learner("films", items, (1.0, 5.0), 1.0, SEED, settings)


def test_popularity_is_released_as_soon_as_it_is_known() -> None:
    learner = Learner("films", 3, (1.0, 5.0), 1.0, SEED, RATE)
    assert learner.item_side().popularity is None
    later = learner.after(Estimate(np.array([0.25, -0.1, 0.5]), 1_000))
    popularity = later.item_side().popularity
    assert popularity is not None
    assert popularity.tolist() == [0.25, float(np.float32(-0.1)), 0.5]
    assert not later.item_side().offsets.any()
    assert (learner.round, learner.item_side().popularity) == (0, None)  # one moment stays as it is


def test_a_wrong_estimate_is_refused() -> None:
    learner = Learner("films", 30, (1.0, 5.0), 1.0, SEED)
    for estimate in (np.zeros(31), np.full(30, np.nan)):
        with pytest.raises(SettingsInvalid):
            learner.after(Estimate(estimate, 5))


def test_posterior_means_go_to_nothing_as_noise_grows_and_to_the_truth_as_it_goes() -> None:
    rng = np.random.default_rng(2)
    share = rng.lognormal(-4.0, 1.0, 2000)
    beta = rng.normal(0.0, 0.4, 2000)
    errors = []
    for noise in (1e-5, 3e-3, 1.0):
        seen = posterior_means(
            share + noise * rng.standard_normal(2000),
            noise**2,
            share * beta + noise * rng.standard_normal(2000),
            noise**2,
        )
        errors.append(float(np.average((seen.offsets - beta) ** 2, weights=share)))
    plain = float(np.average(beta**2, weights=share))
    assert errors[0] < 1e-2 * plain
    assert errors[0] < errors[1] < 0.8 * plain
    assert errors[2] < 1.05 * plain
