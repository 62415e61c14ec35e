"""Budgets: what is accepted, what is refused and how it is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetInvalid
from discreet.privacy.accounting import delta_from, mu_from
from discreet.privacy.budget import Budget


@settings(max_examples=100, deadline=None)
@given(epsilon=st.floats(0.01, 100.0), exponent=st.floats(-12.0, -3.0))
def test_mu_keeps_the_budget(epsilon: float, exponent: float) -> None:
    budget = Budget(epsilon, 10.0**exponent)
    assert budget.mu == mu_from(epsilon, budget.delta)
    assert delta_from(budget.mu, epsilon) <= budget.delta
    assert 0.0 < budget.mu_for(budget.delta / 2.0) < budget.mu
    assert budget.mu_for(budget.delta) == 0.0


BAD = [0, 0.0, -0.0, -1.0, math.nan, math.inf, -math.inf, "1", "inf", None, True, 1j, [1.0], np.nan]


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_bad_epsilon_is_refused(value: object) -> None:
    with pytest.raises(BudgetInvalid, match="epsilon"):
        Budget(epsilon=value, delta=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [*BAD, 1.0, 1, 2.5, 1e-310], ids=repr)
def test_bad_delta_is_refused(value: object) -> None:
    with pytest.raises(BudgetInvalid, match="delta"):
        Budget(epsilon=1.0, delta=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.inf, 10**400], ids=["inf", "huge"])
def test_infinite_epsilon_points_to_the_method_without_privacy(value: float) -> None:
    with pytest.raises(BudgetInvalid, match=r"discreet\.ALS .*--method als.*not private"):
        Budget(epsilon=value, delta=1e-6)


def test_parse() -> None:
    assert Budget.parse("0.5", " 1e-6 ") == Budget(0.5, 1e-6)
    with pytest.raises(BudgetInvalid, match="epsilon must be a number, got 'much'"):
        Budget.parse("much", "1e-6")
    with pytest.raises(BudgetInvalid, match="delta must be a number, got ''"):
        Budget.parse("1", "")
    with pytest.raises(BudgetInvalid, match="--method als"):
        Budget.parse("inf", "1e-6")
    with pytest.raises(BudgetInvalid, match="NaN"):
        Budget.parse("1", "nan")


def test_delta_against_the_number_of_users() -> None:
    Budget(1.0, 1e-6).check_users(100_000)
    with pytest.raises(BudgetInvalid, match=r"100,000 users.*well below 1e-05"):
        Budget(1.0, 1e-5).check_users(100_000)
    with pytest.raises(BudgetInvalid, match="positive"):
        Budget(1.0, 1e-5).check_users(0)
