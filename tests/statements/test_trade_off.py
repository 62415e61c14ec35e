"""Bounds on attackers: against the normal distribution, accounting, and best tests worked out exactly."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from discreet.errors import ModelInvalid
from discreet.privacy.accounting import delta_from
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Selection, budget_for
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.statement import SiloTerms, Statement, state_selection
from discreet.statements.meaning import Composed, trade_off

RATES = (0.0, 1e-6, 0.01, 0.05, 0.3, 0.5, 0.9, 0.99, 1.0)
NORMAL = NormalDist()

Chances = npt.NDArray[np.float64]


def best_power(without: Chances, with_one: Chances, rate: float) -> float:
    """Neyman and Pearson on two finite distributions: outcomes by likelihood ratio until the rate is used up."""
    ratio = np.divide(with_one, without, out=np.full_like(without, np.inf), where=without > 1e-300)
    order = np.argsort(-ratio)
    without, with_one = without[order], with_one[order]
    before = np.concatenate([[0.0], np.cumsum(without)[:-1]])
    taken = np.clip((rate - before) / np.where(without > 1e-300, without, 1.0), 0.0, 1.0)
    return float(with_one @ np.where(without > 1e-300, taken, 1.0))


def right_guess(without: Chances, with_one: Chances) -> float:
    return float(np.maximum(without, with_one).sum() / 2.0)


def coin(epsilon: float) -> tuple[Chances, Chances]:
    """Randomised response about one bit."""
    honest = 1.0 / (1.0 + math.exp(-epsilon))
    return np.array([honest, 1.0 - honest]), np.array([1.0 - honest, honest])


def given_away(delta: float) -> tuple[Chances, Chances]:
    """Everything with probability delta, and nothing otherwise."""
    return np.array([delta, 1.0 - delta, 0.0]), np.array([0.0, 1.0 - delta, delta])


def binned(mu: float, bins: int = 4000) -> tuple[Chances, Chances]:
    """A Gaussian release that is rounded: processing that makes it slightly worse for attackers."""
    edges = np.linspace(-9.0, 9.0 + mu, bins)
    cdf = [np.array([NORMAL.cdf(edge - shift) for edge in edges]) for shift in (0.0, mu)]
    first, second = (np.diff(np.concatenate([[0.0], one, [1.0]])) for one in cdf)
    return first, second


def product(one: tuple[Chances, Chances], other: tuple[Chances, Chances]) -> tuple[Chances, Chances]:
    return np.outer(one[0], other[0]).ravel(), np.outer(one[1], other[1]).ravel()


@pytest.mark.parametrize("mu", [0.01, 0.2367, 1.0, 3.7])
def test_gaussian_power_is_the_shifted_normal_quantile(mu: float) -> None:
    bound = Composed(mu=mu)
    for rate in RATES[1:-1]:
        assert bound.power(rate) == pytest.approx(NORMAL.cdf(NORMAL.inv_cdf(rate) + mu), rel=1e-12)
    assert (bound.power(0.0), bound.power(1.0)) == (0.0, 1.0)
    assert bound.right_guess() == pytest.approx(NORMAL.cdf(mu / 2.0), rel=1e-14)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_power_is_the_dual_of_delta_over_epsilon(mu: float) -> None:
    """The smallest exp(epsilon) alpha + delta(epsilon) over all epsilon, by the room's own accounting."""
    for rate in (0.001, 0.01, 0.05):
        assert rate < NORMAL.cdf(-mu / 2.0)
        least = min(math.exp(e) * rate + delta_from(mu, e) for e in np.linspace(0.0, 15.0, 1_501))
        assert Composed(mu=mu).power(rate) == pytest.approx(least, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("delta", [0.0, 0.003])
def test_randomised_response_with_leaks_reaches_the_bound_exactly(epsilon: float, delta: float) -> None:
    pair = product(coin(epsilon), given_away(delta))
    bound = Composed(epsilon=epsilon, delta=delta)
    for rate in RATES:
        assert bound.power(rate) == pytest.approx(best_power(*pair, rate), rel=1e-9, abs=1e-12)
    assert bound.right_guess() == pytest.approx(right_guess(*pair), rel=1e-12)


def test_both_kinds_of_release_together_stay_within_the_bound() -> None:
    pair = product(binned(0.7, 1500), coin(0.9))
    bound = Composed(mu=0.7, epsilon=0.9)
    for rate in RATES:
        assert best_power(*pair, rate) <= bound.power(rate) + 1e-9
    assert right_guess(*pair) <= bound.right_guess() <= right_guess(*pair) + 0.1
    assert max(Composed(mu=0.7).power(0.05), Composed(epsilon=0.9).power(0.05)) < bound.power(0.05) < 0.4


def test_nothing_released_leaves_blind_guessing() -> None:
    bound = trade_off(Statement.nothing_released())
    assert [bound.power(rate) for rate in RATES] == list(RATES)
    assert bound.right_guess() == 0.5


def test_the_best_of_a_random_number_of_gaussian_trials_stays_within_the_bound() -> None:
    """Trials whose score is all they release: the best of K draws has distribution function E[F^K]."""
    selection = Selection(mean_trials=10.0, score_share=0.5)
    budget = Budget(3.0, 1e-5)
    statement = selected(selection, budget)
    assert statement.mu is not None
    stop = 1.0 / selection.mean_trials
    pair = []
    for chances in binned(statement.mu):
        below = np.minimum(1.0, np.cumsum(chances))
        pair.append(np.diff(np.concatenate([[0.0], stop * below / (1.0 - (1.0 - stop) * below)])))
    bound = trade_off(statement)
    for rate in RATES:
        for first, second in (pair, pair[::-1]):
            assert best_power(first, second, rate) <= bound.power(rate) + 1e-9
    assert right_guess(pair[0], pair[1]) <= bound.right_guess()
    known = Composed(epsilon=budget.epsilon, delta=budget.delta)
    assert bound.power(0.05) < known.power(0.05)


def selected(selection: Selection, budget: Budget) -> Statement:
    mu = selection.trial_mu(budget)
    part = budget_for(mu * math.sqrt(0.5), budget.delta)
    trial, score = Ledger(part), Ledger(part)
    for ledger in (trial, score):
        ledger.charge("something", mu=part.mu)
    return state_selection(Statement.from_ledger(trial), score, selection, budget)


def test_a_statement_of_gaussian_releases_is_bounded_by_its_mu() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    ledger.charge("half", mu=0.1)
    assert trade_off(Statement.from_ledger(ledger)) == Composed(mu=0.1)
    ledger = Ledger(Budget(1.0, 1e-6))
    ledger.charge("half", mu=0.1, delta=1e-7)
    whole = Statement.from_ledger(ledger, adaptive=True)
    assert trade_off(whole) == Composed(mu=ledger.budget.mu_for(1e-7), delta=1e-7)


def test_pure_statements_are_bounded_by_their_epsilon() -> None:
    ledger = PureLedger(2.0)
    ledger.charge("one bit", epsilon=0.5)
    assert trade_off(state_pure(ledger, model="local")) == Composed(epsilon=2.0)


def test_where_each_silo_adds_noise_of_its_own_epsilon_and_delta_alone_count() -> None:
    """Some silos may have spent epsilon without delta: their users have no mu."""
    bounds = []
    for noise in ("each silo", "shares"):
        ledger = Ledger(Budget(1.0, 1e-6))
        ledger.charge("sums", mu=0.2)
        terms = SiloTerms(3, 1, noise)  # type: ignore[arg-type]
        bounds.append(trade_off(Statement.over_silos(ledger, terms, adaptive=True)))
    assert bounds[0] == Composed(epsilon=1.0, delta=1e-6)
    assert bounds[1] == Composed(mu=Budget(1.0, 1e-6).mu)


def test_no_promise_no_bound() -> None:
    with pytest.raises(ModelInvalid, match="not private"):
        trade_off(Statement.not_private("no noise"))
