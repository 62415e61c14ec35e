"""Runs that something carries: believed only as far as their prices go, and never private where one is not."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from discreet.errors import ModelInvalid
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, EarlierRuns, Price, RunCost, Selection
from discreet.privacy.gaussian.noise import FIXED_KEY
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.statement import Statement, state_over_silos

BUDGET, DIGEST = Budget(2.0, 1e-6), "ab" * 32


def made(epsilon: float = 1.0, *, fault: str | None = None) -> Statement:
    budget = Budget(epsilon, 1e-6)
    ledger = Ledger(budget)
    ledger.charge("catalogue", mu=0.5 * budget.mu)
    ledger.charge("sums", mu=0.8 * budget.mu)
    ledger.void(fault)
    return Statement.from_ledger(ledger)


def cost(run: str = "cd" * 16, price: Price | None = None, **changes: object) -> RunCost:
    price = Price(kind="gaussian", mu=BUDGET.mu) if price is None else price
    return RunCost.model_validate({"run": run, "epsilon": 2.0, "delta": 1e-6, "price": price} | changes)


def test_an_earlier_run_may_not_promise_more_than_its_price() -> None:
    assert cost().epsilon == 2.0
    for less in (
        {"epsilon": 1.99},
        {"delta": 9e-7},
        {"price": Price(kind="gaussian", mu=BUDGET.mu, delta=1e-7)},
    ):
        with pytest.raises(ValidationError, match="more than its price"):
            cost(**less)


def test_an_earlier_selection_is_worked_out_again() -> None:
    mu = Selection(mean_trials=10.0, score_share=0.5).trial_mu(BUDGET)
    fields = {"kind": "selection", "mu": mu, "epsilon": 2.0, "delta": 1e-6, "mean_trials": 10.0}
    assert cost(price=Price.model_validate(fields)).price.mu == mu
    with pytest.raises(ValidationError, match="more than its trials"):
        cost(price=Price.model_validate(fields | {"epsilon": 1.9}), epsilon=1.9)


def test_runs_compose_whatever_their_kind() -> None:
    now = made()
    pure = cost("ee" * 16, Price(kind="pure", epsilon=0.5), epsilon=0.5, delta=0.0)
    both = now.carrying(Carried(runs=(cost(), pure)))
    gaussian = now.carrying(Carried(runs=(cost(),)))
    exact = epsilon_from((now.own.mu**2 + BUDGET.mu**2) ** 0.5, 1e-6)
    assert gaussian.epsilon == pytest.approx(exact, rel=1e-12)
    assert gaussian.epsilon is not None
    assert gaussian.epsilon < (both.epsilon or 0.0) <= gaussian.epsilon + 0.5 + 1e-12
    assert both.mu is not None
    assert gaussian.mu is not None
    assert both.mu > gaussian.mu
    assert both.own == now.own
    assert Statement.from_json(both.to_json()) == both
    again = both.carrying(Carried(runs=(cost(model=DIGEST), pure)))
    assert again == both  # each run is counted once
    assert both.carrying(now.carried(DIGEST)) == both


def test_what_carries_something_that_is_not_private_is_not_private() -> None:
    open_ = made(fault=FIXED_KEY)
    for carried in (open_.carried(DIGEST), open_.found_catalogue()):
        said = made().carrying(carried)
        assert not said.private
        assert said.epsilon is None
        assert "not private" in (said.reason or "")
    now = made()
    assert now.carrying(Carried()) == now


def test_what_a_device_replaces_does_not_add_up_with_who_comes_and_goes() -> None:
    ledger = PureLedger(1.0)
    ledger.charge("a bit", epsilon=1.0)
    said = state_pure(ledger, model="local")
    with pytest.raises(ModelInvalid, match="does not add up"):
        said.carrying(Carried(runs=(cost(),)))


def test_silos_of_their_own_noise_carry_what_any_of_them_carries() -> None:
    def silo(epsilon: float) -> Statement:
        ledger = PureLedger(epsilon)
        ledger.charge("a release", epsilon=epsilon)
        return state_pure(ledger, model="silos")

    alone = state_over_silos([silo(1.0), silo(2.0)])
    over = state_over_silos([silo(1.0).carrying(Carried(runs=(cost(),))), silo(2.0)])
    assert alone.epsilon == 2.0
    assert 2.0 < (over.epsilon or 0.0) <= 4.0 + 1e-9
    assert over.own == alone.own
    assert over.silos is not None
    assert over.silos.epsilon_in_two > (over.epsilon or 0.0)


def test_an_earlier_run_stands_in_a_statement_once() -> None:
    said = made().carrying(Carried(runs=(cost(),)))
    content = json.loads(said.to_json())
    content |= {"earlier_runs": 2 * content["earlier_runs"], "epsilon": 9.0, "mu": 9.0}
    with pytest.raises(ModelInvalid, match="named twice"):
        Statement.from_json(json.dumps(content))


def test_a_ledger_in_which_all_runs_cost_less_than_some_is_refused() -> None:
    fields = {"ledger": "shop", "runs": 1, "earlier_epsilon": 1.0, "delta": 1e-6, "head": "0" * 64}
    assert EarlierRuns(epsilon=1.0, **fields).epsilon == 1.0
    with pytest.raises(ValidationError, match="cannot cost less"):
        EarlierRuns(epsilon=0.9, **fields)


def test_what_a_statement_says_of_its_ledger_includes_the_run_that_says_so() -> None:
    fields = {"ledger": "shop", "runs": 1, "earlier_epsilon": 1.5, "delta": 1e-6, "head": "0" * 64}
    words = " ".join(str(made().with_earlier(EarlierRuns(epsilon=2.5, **fields))).split())
    assert "1 earlier run on the same data cost epsilon 1.5; with this one epsilon 2.5 at delta 1e-6" in words
