"""The ledger: nothing leaves uncharged, twice, or beyond the budget."""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import FrozenInstanceError
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, BudgetInvalid, UnchargedRelease
from discreet.privacy.accounting import compose, delta_from
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Charge, Ledger

BUDGET = Budget(1.0, 1e-6)


def _spend(ledger: Ledger, mu: float, times: int) -> None:
    for number in range(times):
        ledger.charge(f"round {number + 1}", mu=mu)


@pytest.mark.parametrize("times", [1, 2, 7, 300])
def test_one_round_too_many_is_refused(times: int) -> None:
    ledger = Ledger(BUDGET)
    mu = BUDGET.mu / math.sqrt(times)
    _spend(ledger, mu, times)
    with pytest.raises(BudgetExceeded):
        ledger.charge("one more", mu=mu)
    with pytest.raises(BudgetExceeded):
        ledger.charge("a little more", mu=1e-4 * BUDGET.mu)
    assert len(ledger.charges) == times


@pytest.mark.parametrize(("excess", "fits"), [(-1e-11, True), (1e-13, True), (4e-12, False), (1e-9, False)])
def test_tolerance_is_for_rounding_only(excess: float, fits: bool) -> None:
    ledger = Ledger(BUDGET)
    mu = BUDGET.mu * (1.0 + excess)
    if fits:
        ledger.charge("all of it", mu=mu)
        assert delta_from(ledger.spent_mu, BUDGET.epsilon) <= BUDGET.delta
    else:
        with pytest.raises(BudgetExceeded):
            ledger.charge("all of it", mu=mu)


@settings(max_examples=60, deadline=None)
@given(
    epsilon=st.floats(0.05, 50.0),
    shares=st.lists(st.floats(0.01, 0.9), min_size=1, max_size=30),
    direct=st.floats(0.0, 0.9),
)
def test_whatever_is_accepted_is_within_the_promise(
    epsilon: float, shares: list[float], direct: float
) -> None:
    ledger = Ledger(Budget(epsilon, 1e-5))
    for number, share in enumerate(shares):
        extra = direct * 1e-5 if number == 0 else 0.0
        ledger.charge("part", mu=share * (ledger.remaining_mu if number else 0.3 * epsilon / 10), delta=extra)
    mu = compose(charge.mu for charge in ledger.charges)
    assert delta_from(mu, epsilon) + ledger.spent_delta <= 1e-5
    assert delta_from(mu, ledger.epsilon_spent) + ledger.spent_delta <= 1e-5
    with pytest.raises(BudgetExceeded):
        ledger.charge("too much", mu=ledger.remaining_mu * (1.0 + 1e-6) + 1e-5 * mu)


def test_direct_delta_is_taken_off_before_the_conversion() -> None:
    ledger = Ledger(BUDGET)
    full = BUDGET.mu
    with pytest.raises(BudgetExceeded):
        ledger.charge("all of mu and half of delta", mu=full, delta=5e-7)
    ledger.charge("counts", mu=BUDGET.mu_for(5e-7), delta=5e-7)
    assert ledger.spent_mu < full
    assert ledger.spent_delta == 5e-7
    assert ledger.remaining_mu == 0.0
    assert ledger.epsilon_spent == pytest.approx(1.0, rel=1e-9)


def test_a_later_delta_counts_for_earlier_releases() -> None:
    ledger = Ledger(BUDGET)
    ledger.charge("sums", mu=BUDGET.mu_for(5e-7))
    with pytest.raises(BudgetExceeded):
        ledger.charge("counts", mu=1e-9, delta=9e-7)
    with pytest.raises(BudgetExceeded):
        ledger.charge("counts", mu=1e-9, delta=1e-6)


@pytest.mark.parametrize("mu", [0.0, -0.1, math.nan, -math.inf])
def test_a_release_must_cost_something(mu: float) -> None:
    with pytest.raises(BudgetInvalid, match="more than nothing"):
        Ledger(BUDGET).charge("free", mu=mu)


@pytest.mark.parametrize("mu", [math.inf, 1e300, 1.0])
def test_too_little_noise_is_refused(mu: float) -> None:
    with pytest.raises(BudgetExceeded):
        Ledger(BUDGET).charge("bare", mu=mu)


@pytest.mark.parametrize("delta", [-1e-9, math.nan, 1.0, math.inf])
def test_nonsense_delta_is_refused(delta: float) -> None:
    with pytest.raises(BudgetInvalid, match="of delta"):
        Ledger(BUDGET).charge("counts", mu=0.1, delta=delta)


def test_a_token_is_good_for_one_release() -> None:
    ledger = Ledger(BUDGET)
    token = ledger.charge("sums", mu=0.1)
    ledger.redeem(token)
    with pytest.raises(UnchargedRelease, match="already"):
        ledger.redeem(token)


def test_a_token_of_another_run_a_copy_or_a_forgery_is_worthless() -> None:
    ledger, other = Ledger(BUDGET), Ledger(BUDGET)
    token = ledger.charge("sums", mu=0.1)
    forged = Charge(token.name, token.mu, token.epsilon, token.delta, token.detail)
    for worthless in (other.charge("sums", mu=0.1), copy.copy(token), forged, None):
        with pytest.raises(UnchargedRelease, match="not charged"):
            ledger.redeem(worthless)  # type: ignore[arg-type]
    ledger.redeem(token)


def test_a_closed_ledger_keeps_what_was_charged_and_takes_no_more() -> None:
    ledger = Ledger(BUDGET)
    token = ledger.charge("never released", mu=0.1)
    ledger.close()
    ledger.close()
    assert ledger.closed
    assert ledger.spent_mu == 0.1
    with pytest.raises(UnchargedRelease, match="over"):
        ledger.charge("late", mu=0.1)
    with pytest.raises(UnchargedRelease, match="over"):
        ledger.redeem(token)


def test_charges_cannot_be_changed() -> None:
    detail = {"noise_scale": 3.0}
    charge = Ledger(BUDGET).charge("sums", mu=0.1, detail=detail)
    detail["noise_scale"] = 0.0
    assert dict(charge.detail) == {"noise_scale": 3.0}
    with pytest.raises(FrozenInstanceError):
        charge.mu = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        charge.detail["noise_scale"] = 0.0  # type: ignore[index]


@pytest.mark.parametrize("name", ["", "  ", None])
def test_a_release_needs_a_name(name: str) -> None:
    with pytest.raises(BudgetInvalid, match="name"):
        Ledger(BUDGET).charge(name, mu=0.1)


def test_a_ledger_needs_a_budget() -> None:
    with pytest.raises(BudgetInvalid, match="Budget"):
        Ledger(1.0)  # type: ignore[arg-type]


def _all_at_once(work: Callable[[], int], threads: int = 8) -> int:
    """Sum of what the threads did, switched so often that an unguarded ledger slips."""
    start, usual = Barrier(threads), sys.getswitchinterval()

    def wait_and_work(_: int) -> int:
        start.wait()
        return work()

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(wait_and_work, range(threads)))
    finally:
        sys.setswitchinterval(usual)


def test_threads_cannot_overspend_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding up is made slow, so that without a lock several threads would find the same money."""

    def slow(mus: Iterable[float]) -> float:
        time.sleep(1e-3)
        return compose(mus)

    monkeypatch.setattr("discreet.privacy.ledger.compose", slow)
    ledger = Ledger(BUDGET)
    mu = BUDGET.mu / math.sqrt(12.0)  # twelve fit

    def spend() -> int:
        for done in range(12):
            try:
                ledger.charge("release", mu=mu)
            except BudgetExceeded:
                return done
        return 12

    assert _all_at_once(spend) == len(ledger.charges) == 12


def test_threads_cannot_release_the_same_thing_together() -> None:
    ledger = Ledger(BUDGET)
    tokens = [ledger.charge("release", mu=BUDGET.mu / 20.0) for _ in range(400)]

    def release() -> int:
        done = 0
        for token in tokens:
            with suppress(UnchargedRelease):
                ledger.redeem(token)
                done += 1
        return done

    assert _all_at_once(release) == 400
