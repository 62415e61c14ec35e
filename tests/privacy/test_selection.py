"""Selection: the cost by an accountant of others, by the theorem on its own, and by the exact densities."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import integrate, stats

from discreet.errors import BudgetExceeded, BudgetInvalid
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Selection, budget_for, draw_trials
from discreet.privacy.ledger import Ledger

MUS = (0.01, 0.1, 0.5, 2.0, 6.0)
MEANS = (1.01, 2.0, 10.0, 200.0)


def selection(mean_trials: float) -> Selection:
    return Selection(mean_trials=mean_trials, score_share=0.1)


def theorem_2(
    orders: np.ndarray, hats: np.ndarray, mu: float, eta: float, gamma: float, mean: float
) -> np.ndarray:
    """Papernot and Steinke 2021, theorem 2, for a Gaussian trial: (order, order mu^2 / 2)-RDP at every order.

    ``hats`` are the second orders to choose the best from.
    """
    at_hats = (1.0 - 1.0 / hats) * hats * mu**2 / 2.0 + math.log(1.0 / gamma) / hats
    constant = (1.0 + eta) * float(at_hats.min())
    return orders * mu**2 / 2.0 + constant + math.log(mean) / (orders - 1.0)


def to_epsilon(orders: np.ndarray, rdp: np.ndarray, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, proposition 12."""
    return float((rdp + np.log1p(-1.0 / orders) - np.log(delta * orders) / (orders - 1.0)).min())


def mean_of(eta: float, gamma: float) -> float:
    return eta * (1.0 - gamma) / (gamma * (1.0 - gamma**eta))


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("mean", MEANS)
def test_the_cost_is_the_theorems(mu: float, mean: float) -> None:
    orders = 1.0 + np.geomspace(0.011, 1e6, 4_000)
    best = np.array([max(1.0, math.sqrt(2.0 * math.log(mean)) / mu)])
    own = to_epsilon(orders, theorem_2(orders, best, mu, 1.0, 1.0 / mean, mean), 1e-6)
    stated = selection(mean).epsilon(mu, 1e-6)
    assert own < stated < 1.003 * own


@pytest.mark.parametrize("mean", [2.0, 10.0])
@pytest.mark.parametrize("mu", [0.3, 1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_exact_loss_of_the_best_score_is_covered(mu: float, mean: float, sign: float) -> None:
    """Scores alone, N(0, 1) for one data set and N(mu, 1) for its neighbour: the best has a density we can write."""
    stop = 1.0 / mean

    def log_density(x: float, shift: float) -> float:
        # The distribution of the best of K is F stop / (1 - (1 - stop) F).
        spread = 1.0 - (1.0 - stop) * stats.norm.cdf(x - shift)
        return float(math.log(stop) + stats.norm.logpdf(x - shift) - 2.0 * math.log(spread))

    delta = 1e-4
    epsilon = selection(mean).epsilon(mu, delta)

    def excess(x: float) -> float:
        p, q = log_density(x, sign * mu), log_density(x, 0.0)
        return max(0.0, math.exp(p) - math.exp(epsilon + q))

    lost, _ = integrate.quad(excess, -12.0, 14.0, limit=400)
    assert lost <= delta
    alone = epsilon_from(mu, delta)
    assert epsilon > alone
    whole, _ = integrate.quad(lambda x: math.exp(log_density(x, 0.0)), -12.0, 14.0, limit=400)
    assert whole == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("mean", [1.01, 10.0])
def test_the_cost_of_a_trial_is_the_largest_that_fits(epsilon: float, mean: float) -> None:
    budget = Budget(epsilon, 1e-6)
    mu = selection(mean).trial_mu(budget)
    assert selection(mean).epsilon(mu, 1e-6) <= epsilon
    assert selection(mean).epsilon(mu * (1.0 + 1e-6), 1e-6) > epsilon
    assert mu < budget.mu


@pytest.mark.parametrize("mean", [1.25, 3.0, 7.5])
def test_the_number_of_trials_is_geometric(mean: float) -> None:
    draws = 6_000
    counts = Counter(draw_trials(mean) for _ in range(draws))
    assert min(counts) == 1
    law = stats.geom(1.0 / mean)
    last = int(law.ppf(0.98)) + 1
    observed = [counts[k] for k in range(1, last)]
    expected = [draws * law.pmf(k) for k in range(1, last)]
    observed.append(draws - sum(observed))
    expected.append(draws - sum(expected))
    assert stats.chisquare(observed, expected).pvalue > 1e-6


@settings(max_examples=25, deadline=None)
@given(mu=st.floats(1e-4, 8.0), exponent=st.floats(-12.0, -4.0))
def test_a_budget_for_a_cost_allows_that_cost_and_no_more(mu: float, exponent: float) -> None:
    try:
        budget = budget_for(mu, 10.0**exponent)
    except BudgetInvalid:
        # With so little cost the delta alone is promise enough, and no epsilon above 0 is that strict.
        assert epsilon_from(mu, 10.0**exponent) == 0.0
        return
    assert mu * (1.0 - 1e-9) < budget.mu <= mu
    ledger = Ledger(budget)
    ledger.charge("all of it", mu=ledger.remaining_mu)
    assert ledger.spent_mu <= mu
    with pytest.raises(BudgetExceeded):
        Ledger(budget).charge("more", mu=mu)


@pytest.mark.parametrize(
    "fields",
    [
        {"mean_trials": 10.0, "score_share": 0.1, "distribution": "fixed"},
        {"mean_trials": 10.0, "score_share": 0.1, "trials": 10},
        {"mean_trials": 1.0, "score_share": 0.1},
        {"mean_trials": 0.5, "score_share": 0.1},
        {"mean_trials": math.inf, "score_share": 0.1},
        {"mean_trials": math.nan, "score_share": 0.1},
        {"mean_trials": "10", "score_share": 0.1},
        {"mean_trials": 10.0, "score_share": 0.0},
        {"mean_trials": 10.0, "score_share": 1.0},
        {"mean_trials": 10.0},
    ],
    ids=str,
)
def test_a_fixed_number_of_trials_and_other_nonsense_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Selection(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mu", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (math.nan, 1e-6), (math.inf, 1e-6), (1.0, 0.0), (1.0, 1.0)]
)
def test_what_cannot_be_accounted_for_has_no_epsilon(mu: float, delta: float) -> None:
    assert selection(10.0).epsilon(mu, delta) == math.inf
