"""What runs cost together: never less than the truth, and exact where it can be."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from discreet.privacy.accounting import delta_from, epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Cost, Selected, Selection, mu_of_pure, shared_delta


def exact_delta(mu: float, pures: tuple[float, ...], epsilon: float) -> float:
    """Delta of one Gaussian pair and randomised responses together: the worst that such runs can be."""
    total = 0.0
    for signs in itertools.product((1.0, -1.0), repeat=len(pures)):
        chance = math.prod(
            (math.exp(p) if s > 0 else 1.0) / (1.0 + math.exp(p)) for p, s in zip(pures, signs, strict=True)
        )
        left = epsilon - sum(p * s for p, s in zip(pures, signs, strict=True))
        if mu == 0.0:
            value = max(0.0, 1.0 - math.exp(left))
        else:
            value = ndtr(mu / 2 - left / mu) - math.exp(left) * ndtr(-mu / 2 - left / mu)
        total += chance * value
    return total


@given(
    mu=st.floats(0.01, 3.0),
    pures=st.lists(st.floats(0.05, 1.5), max_size=6).map(tuple),
    delta=st.sampled_from([1e-3, 1e-5, 1e-7]),
)
@settings(max_examples=150, deadline=None)
def test_gaussian_and_pure_runs_are_never_said_to_cost_less_than_the_worst_such_runs_do(
    mu: float, pures: tuple[float, ...], delta: float
) -> None:
    epsilon = Cost(mu=mu, pure=pures).epsilon(delta)
    assert exact_delta(mu, pures, epsilon) <= delta * (1.0 + 1e-6)
    if not pures:
        # Exact: a slightly smaller epsilon is not true any more.
        assert epsilon == 0.0 or exact_delta(mu, pures, epsilon * (1.0 - 1e-6)) > delta * (1.0 - 1e-6)


def test_gaussian_runs_compose_exactly() -> None:
    monthly = Budget(1.0, 1e-6)
    year = Cost.together([Cost(mu=monthly.mu)] * 12)
    assert year.epsilon(1e-6) == pytest.approx(epsilon_from(monthly.mu * math.sqrt(12), 1e-6), rel=1e-12)
    assert year.epsilon(1e-6) == pytest.approx(3.904, abs=1e-3)
    assert year.epsilon(1e-6) < 12


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_a_pure_mechanism_is_nowhere_easier_to_tell_apart_than_its_gaussian(epsilon: float) -> None:
    mu = mu_of_pure(epsilon)
    for alpha in (1e-12, 1e-6, 1e-3, 0.1, 1.0 / (1.0 + math.exp(epsilon)), 0.5, 0.9):
        pure = max(0.0, 1.0 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1.0 - alpha))
        assert ndtr(-ndtri(alpha) - mu) <= pure + 1e-12
    # And it is the smallest such mu: with less, the corner of randomised response lies below.
    corner = 1.0 / (1.0 + math.exp(epsilon))
    assert ndtr(-ndtri(corner) - mu * (1.0 - 1e-6)) > corner


def test_what_is_taken_from_delta_adds_up_and_leaves_less_for_the_noise() -> None:
    cost = Cost.together([Cost(mu=0.2, delta=1e-7)] * 4)
    assert cost.delta == pytest.approx(4e-7)
    assert cost.epsilon(1e-6) == pytest.approx(epsilon_from(0.4, 1e-6, 4e-7))
    assert cost.epsilon(1e-6) > Cost(mu=0.4).epsilon(1e-6)
    assert cost.epsilon(4e-7) == math.inf


def selected(epsilon: float, delta: float = 1e-6, mean: float = 10.0) -> Cost:
    mu = Selection(mean_trials=mean, score_share=0.1).trial_mu(Budget(epsilon, delta))
    return Cost(selections=(Selected(mu, mean, epsilon, delta),))


def test_one_selection_costs_what_it_says_and_several_cost_less_than_their_sum() -> None:
    one = selected(2.0)
    assert one.epsilon(1e-6) <= 2.0
    assert one.epsilon(1e-6) == pytest.approx(2.0, rel=1e-6)
    assert one.within(Budget(2.0, 1e-6))
    assert not one.within(Budget(1.99, 1e-6))
    four = Cost.together([one] * 4)
    assert 4.0 < four.epsilon(1e-6) < 8.0
    assert four.gaussian_mu is None
    # Four alike cost what four hardly different ones do: none is forgotten for being the same.
    (like,) = one.selections
    different = tuple(replace(like, mu=like.mu * (1.0 + k * 1e-9)) for k in range(4))
    assert four.epsilon(1e-6) == pytest.approx(Cost(selections=different).epsilon(1e-6), rel=1e-6)


def test_a_selection_beside_a_gaussian_run_costs_more_than_either_and_less_than_their_sum() -> None:
    both = Cost.together([selected(2.0), Cost(mu=Budget(2.0, 1e-6).mu)])
    assert 2.0 < both.epsilon(1e-6) < 4.0
    # At the sum of the deltas basic composition holds as well.
    assert both.epsilon(2e-6) <= 4.0 + 1e-9


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("pures", [(), (0.05,), (0.1,) * 8, (4.0,)])
@pytest.mark.parametrize("tuned", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("direct", [0.0, 9e-7])
def test_every_kind_of_cost_counts_beside_the_others(
    mu: float, pures: tuple[float, ...], tuned: float, direct: float
) -> None:
    """A selection costs no less than one trial of it, and what is taken from delta directly gives all away."""
    parts = [Cost(mu=mu), *(Cost(pure=(one,)) for one in pures), *[Cost(delta=direct / 3)] * 3]
    chosen = [selected(tuned, 2e-7), selected(tuned, 2e-7, 3.0)] if tuned else []
    whole = Cost.together([*parts, *chosen])
    if whole.nothing:
        return
    epsilon, trials = whole.epsilon(1e-6), [one.mu for cost in chosen for one in cost.selections]
    if math.isinf(epsilon):
        assert direct
        assert (mu, trials) != (0.0, [])
        return
    spent = exact_delta(math.hypot(mu, *trials), pures, epsilon)
    assert direct + (1.0 - direct) * spent <= 1e-6 * (1.0 + 1e-6)
    for some in (parts, chosen):
        assert epsilon >= Cost.together(some).epsilon(1e-6) * (1.0 - 1e-12)
    if tuned:
        assert epsilon >= Cost.together(chosen).epsilon(1e-6 - direct) * (1.0 - 1e-12)


def test_a_sum_has_the_mu_of_all_and_stands_at_a_delta_that_direct_ones_leave() -> None:
    assert Cost(mu=0.3, pure=(0.5, 0.2)).gaussian_mu == pytest.approx(
        math.hypot(0.3, mu_of_pure(0.5), mu_of_pure(0.2))
    )
    assert shared_delta([1e-6, 2e-6], 1e-6) == 2e-6
    assert shared_delta([1e-6, 2e-6], 1.1e-6) == pytest.approx(3e-6)
    assert shared_delta([0.7, 0.6], 0.7) < 1.0


@given(epsilon=st.floats(0.05, 20.0), delta=st.floats(1e-9, 1e-3))
@settings(max_examples=60, deadline=None)
def test_a_cap_has_room_for_exactly_the_budget_that_it_is(epsilon: float, delta: float) -> None:
    cap = Budget(epsilon, delta)
    assert Cost(mu=cap.mu).within(cap)
    assert Cost(mu=cap.mu * (1.0 + 5e-13)).within(cap)  # what the ledger of a run lets in
    assert not Cost(mu=cap.mu * (1.0 + 1e-6)).within(cap)
    assert not Cost.together([Cost(mu=cap.mu), Cost(mu=cap.mu / 100)]).within(cap)
    assert delta_from(Cost(mu=cap.mu).mu, cap.epsilon) <= cap.delta
