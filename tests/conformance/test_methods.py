"""Every registered private method keeps every promise: a method is tested by being registered."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from discreet import Budget
from discreet.errors import RatingsInvalid
from discreet.methods.method import PrivateMethod
from tests.conformance import suite
from tests.conformance.cases import (
    CASES,
    REFUSED,
    Case,
    city,
    hostile,
    private_methods,
    town,
)
from tests.conformance.runs import ENGINES, LARGE, Run, record

every_case = pytest.mark.parametrize("case", CASES, ids=str)


@cache
def in_town(case: Case) -> Run:
    return record(case.method(), town(case.kind))


@cache
def among_the_hostile(case: Case) -> Run:
    return record(case.method(), hostile(case.kind))


@cache
def fitted_in_town(case: Case) -> PrivateMethod:
    return case.method().fit(town(case.kind), LARGE, rng=0)


@pytest.fixture
def run(case: Case) -> Run:
    return in_town(case)


@pytest.fixture
def small(case: Case) -> Run:
    return among_the_hostile(case)


@pytest.fixture
def fitted(case: Case) -> PrivateMethod:
    return fitted_in_town(case)


def test_every_registered_private_method_is_here() -> None:
    assert {case.name for case in CASES} == set(private_methods())
    assert len(private_methods()) >= 9


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_a_method_cannot_learn_from_it_refuses_in_words(case: Case) -> None:
    """What predicts ratings has nothing to learn from clicks; and the refusal comes before anything is spent."""
    assert case.name in {"budgeted", "global-mean", "user-mean", "item-mean"}
    assert case.kind == "implicit"
    with pytest.raises(RatingsInvalid, match=f"{case.name} predicts ratings.*implicit.* [Uu]se ") as refused:
        case.method().fit(town("implicit"), Budget(2.0, 1e-6))
    assert str(refused.value) == REFUSED[case]


@every_case
def test_what_is_asked_is_released_and_charged_each_once_and_spends_the_budget(case: Case, run: Run) -> None:
    suite.check_charges(run, spends_all=case.way.spends_all)
    suite.check_what_is_left(run, spends_all=case.way.spends_all)


@every_case
def test_a_real_run_is_private_and_says_what_it_cost(case: Case) -> None:
    suite.check_statement(case.method(), town(case.kind), spends_all=case.way.spends_all)


@every_case
def test_no_user_moves_a_release_by_more_than_its_bound_nor_anybody_elses_integers(
    case: Case, small: Run
) -> None:
    suite.check_neighbours(small, reached=case.way.reached)


@every_case
def test_what_a_user_hands_in_is_their_own_to_the_last_bit(case: Case, small: Run) -> None:
    suite.check_a_users_numbers_are_their_own(small)


@pytest.mark.parametrize(
    "case",
    {(case.name, case.kind): case for case in CASES if "rank" in case.method().get_params()}.values(),
    ids=str,
)
def test_with_many_factors_too_what_a_user_hands_in_is_their_own(case: Case) -> None:
    """From four factors on a product by BLAS rounds a row differently when others stand beside it."""
    method = private_methods()[case.name](**case.way.settings | {"rank": 16})
    suite.check_a_users_numbers_are_their_own(record(method, hostile(case.kind, 40)))


@every_case
def test_the_bound_holds_whatever_was_released_before(case: Case) -> None:
    suite.check_bound_after_wild_releases(case.method(), hostile(case.kind))


@every_case
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_integers(case: Case, run: Run, engine: str) -> None:
    suite.check_engine(run, ENGINES[engine])


@every_case
def test_same_integers_and_model_for_any_threads_and_any_order_of_users(case: Case) -> None:
    suite.check_threads_and_order(record(case.method(), city(case.kind)))


@every_case
def test_what_a_private_half_remembers_changes_no_integer(case: Case, small: Run) -> None:
    suite.check_caches(small)


@every_case
def test_releases_alone_replay_a_run_from_any_position(case: Case, small: Run) -> None:
    suite.check_replay(small)


@every_case
def test_nothing_but_releases_reaches_the_model(case: Case, run: Run) -> None:
    suite.check_only_releases_reach_the_model(run)


@every_case
def test_one_number_of_one_release_moves_the_model_or_nothing(case: Case, run: Run) -> None:
    suite.check_every_release_matters(run)


@every_case
def test_a_query_at_another_cost_is_the_same_query(case: Case, small: Run) -> None:
    suite.check_queries_at_another_cost(small)


@every_case
def test_repeats_stay_within_the_budget_and_end(case: Case, run: Run) -> None:
    suite.check_repeats(run, spends_all=case.way.spends_all)
    suite.check_repeated_many_times(run)


@every_case
def test_queries_travel_and_are_no_larger_than_the_method_says(case: Case, small: Run) -> None:
    suite.check_queries_travel(small)


@every_case
def test_the_model_serves_newcomers_and_people_with_a_history(
    case: Case, fitted: PrivateMethod, tmp_path: Path
) -> None:
    suite.check_served(fitted, town(case.kind), tmp_path)
    suite.check_nothing_kept(fitted, town(case.kind))
    suite.check_fitted_parameters(fitted)


@every_case
def test_few_users_and_little_budget_do_no_harm(case: Case) -> None:
    suite.check_few_users_and_little_budget(case.method(), town(case.kind))


@every_case
def test_parameters_have_the_manners_of_scikit_learn(case: Case) -> None:
    suite.check_parameters(case.method())
