"""Two runs on the same people: nearly all that the second model's statement says first is found, and no more."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from discreet import Budget, Statement
from discreet.audit.game import Scores, judge
from discreet.audit.suite import Audit
from discreet.audit.two_runs import PAIRS, PLAYED, play_two
from discreet.methods.registry import METHODS
from tests.audit.planted import HalfNoise

BUDGET = Budget(4.0, 1e-5)


# Of a run of lists most of the time goes into the table that follows from the sums.
GAMES = [pytest.param(name, marks=pytest.mark.slow if name == "start of lists" else ()) for name in PAIRS]


@cache
def played(name: str) -> tuple[Scores, Statement]:
    return play_two(name, BUDGET, {"start": 80, "start of lists": 60, "catalogue": 150}[name])


@pytest.mark.parametrize("name", GAMES)
def test_both_runs_are_found_and_no_more_than_is_stated(name: str) -> None:
    scores, statement = played(name)
    assert statement.epsilon is not None
    assert statement.own.epsilon <= BUDGET.epsilon < statement.epsilon
    assert statement.delta == BUDGET.delta
    whole = judge(scores, Budget(statement.epsilon, BUDGET.delta))
    assert whole.passed, whole
    assert 0.98 < whole.reach <= 1.0
    # What so few plays can tell; 2,000 tell more than nine tenths.
    assert whole.lower_bound > 0.65 * statement.epsilon


@pytest.mark.parametrize("name", GAMES)
def test_the_second_run_alone_does_not_cover_what_is_found(name: str) -> None:
    """What the canary moves is more than the last run has paid for; that is a matter of integers, not of chance."""
    scores, statement = played(name)
    assert judge(scores, Budget(statement.own.epsilon, BUDGET.delta)).reach > 1.1


def test_both_runs_can_be_played_at_any_epsilon_that_somebody_would_claim() -> None:
    for epsilon in (0.1, 1.0):
        _, statement = play_two("catalogue", Budget(epsilon, 1e-6), 1)
        assert (statement.epsilon or 0.0) > epsilon


def test_methods_that_start_from_models_play_both_runs() -> None:
    starting = [name for name, method in METHODS.items() if getattr(method, "public_half", None)]
    assert {name for name in starting if METHODS[name].public_half.uses_start} == set(PLAYED)


@pytest.mark.parametrize("name", GAMES)
def test_half_the_noise_is_refuted(name: str) -> None:
    scores, statement = play_two(name, BUDGET, 40, noise=HalfNoise)
    assert not judge(scores, Budget(statement.epsilon or 0.0, BUDGET.delta)).passed


def test_what_was_found_about_two_runs_is_not_held_against_the_claim_about_one() -> None:
    """Both together may give away more than one was claimed to; what is told beside that claim is about one."""
    one = judge(played("start")[0], BUDGET)
    two = replace(one, claimed=20.0, bounds={"noise": 15.0})
    found = Audit("budgeted", BUDGET.epsilon, BUDGET.delta, {}, {"game": one, "game, start": two})
    assert found.as_json()["lower_bound"] == one.lower_bound
    assert found.as_json()["games"]["game, start"]["lower_bound"] == 15.0
