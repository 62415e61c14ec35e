"""The course of a task: budget, questions, estimates, what is learnt, and what it is said to have cost."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from discreet.devices.device.question import QuestionInvalid
from discreet.devices.estimator import Estimator, posterior_means
from discreet.devices.learner import Estimate, Learner
from discreet.devices.task import DeviceSettings, Schedule, state_task
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.privacy.local.rotated import packed_signs
from tests.devices.support.questions import SEED, pseudonyms, question

RATE = DeviceSettings(goal="rate")


@pytest.mark.parametrize(("epsilon", "passes"), [(0.1, 1), (4.0, 2), (100.0, 46)])
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


def test_a_task_that_is_replayed_goes_on_with_the_same_questions_and_releases() -> None:
    """A collector stores estimates and nothing else; what follows from them is the same to the last bit."""
    settings = DeviceSettings(goal="rate", factor_rounds=6)
    start = Learner("films", 30, (1.0, 5.0), 8.0, SEED, settings)
    rng, told, seen, learner = np.random.default_rng(1), [], [], start
    while (asked := learner.question()) is not None:
        assert asked.round == learner.round + 1
        seen.append((asked.to_json(), learner.released()))
        told.append(Estimate(0.2 * rng.standard_normal(asked.coordinates), 1000))
        learner = learner.after(told[-1])
    assert len(told) == 16
    for stopped in range(len(told)):
        again = reduce(Learner.after, told[:stopped], start)
        next_one = again.question()
        assert next_one is not None
        assert (next_one.to_json(), again.released()) == seen[stopped]
    assert reduce(Learner.after, told, start).released() == learner.released()


def test_a_task_with_a_question_too_large_to_ask_is_refused_at_once() -> None:
    settings = DeviceSettings(goal="rate", groups=4, passes=1, rank=64, factor_rounds=1)
    with pytest.raises((SettingsInvalid, QuestionInvalid)):
        Learner("films", 1 << 22, (1.0, 5.0), 1.0, SEED, settings)


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


def brute_force(asked, ids, bits):  # type: ignore[no-untyped-def]
    """The estimate by its definition, device by device."""
    total = np.zeros(asked.coordinates)
    signs = np.unpackbits(packed_signs(asked), axis=1)
    for one, bit in zip(ids, bits, strict=True):
        rotation, coordinate = asked.place(one.tobytes())
        for j in range(asked.coordinates):
            minus = int(signs[rotation, j]) ^ (j & coordinate).bit_count() & 1
            total[j] += (2 * int(bit) - 1) * (-1) ** minus
    return total * math.sqrt(math.pi / 2) * (math.e + 1) / (math.e - 1) / len(bits)


@pytest.mark.parametrize("kind", ["popularity", "factors"])
def test_the_estimate_is_its_definition_in_any_order(kind: str) -> None:
    rng = np.random.default_rng(2)
    asked = question(kind, items=20, rotations=4)  # type: ignore[arg-type]
    ids = pseudonyms(60, rng)
    bits = rng.integers(0, 2, 60)
    whole = Estimator(asked)
    whole.add(ids, bits)
    np.testing.assert_allclose(whole.estimate(), brute_force(asked, ids, bits), atol=1e-12)
    order = rng.permutation(60)
    parts = Estimator(asked)
    parts.add([one.tobytes() for one in ids[order[:25]]], bits[order[:25]])
    parts.add(ids[order[25:]], bits[order[25:]])
    assert (parts.estimate() == whole.estimate()).all()
    assert parts.answers == 60


def test_wrong_bits_and_pseudonyms_are_refused() -> None:
    estimator = Estimator(question("popularity"))
    ids = pseudonyms(2, np.random.default_rng(0))
    for bits in ([1], [0, 2], [0.5, 1]):
        with pytest.raises(SettingsInvalid):
            estimator.add(ids, bits)
    with pytest.raises(SettingsInvalid):
        estimator.add([b"short"], [1])


@pytest.mark.parametrize(("groups", "passes", "epsilon"), [(2, 1, 0.5), (3, 5, 7.3)])
def test_at_any_time_the_statement_covers_what_one_device_has_answered(
    groups: int, passes: int, epsilon: float
) -> None:
    """A question that is open may have been answered: it counts, whether or not it is in the model."""
    schedule = Schedule(DeviceSettings(goal="rate", groups=groups, passes=passes), epsilon)
    answered: Counter[int] = Counter()
    for asked, step in enumerate(schedule.steps, 1):
        answered[step.group] += 1
        statement = state_task(schedule, asked)
        most = max(answered.values())
        assert statement.private
        assert statement.epsilon is not None
        assert Fraction(statement.epsilon) >= most * Fraction(schedule.cost)
        assert len(statement.releases) == most
        assert statement.relation == "replace all of one user's ratings"
        assert any("still to come" in entry for entry in statement.not_protected) == (
            most < passes and asked < len(schedule.steps)
        )
    assert state_task(schedule, len(schedule.steps)).epsilon == epsilon
