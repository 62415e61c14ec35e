"""Pure epsilon: what is spent adds up, nothing leaves uncharged, and the statement says so."""

from __future__ import annotations

import json

import pytest

from discreet import Budget
from discreet.errors import BudgetExceeded, BudgetInvalid, ModelInvalid
from discreet.privacy.accounting import delta_from
from discreet.privacy.gaussian.noise import FIXED_KEY
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.statement import SiloTerms, Statement


def _spent(*costs: float, budget: float = 1.0) -> PureLedger:
    ledger = PureLedger(budget)
    for number, cost in enumerate(costs):
        ledger.redeem(ledger.charge(f"part {number}", epsilon=cost))
    return ledger


def test_costs_add_up_to_the_last_charge_and_not_beyond() -> None:
    ledger = _spent(*[0.1] * 10)
    assert ledger.spent == pytest.approx(1.0)
    with pytest.raises(BudgetExceeded, match="only 0 is left"):
        ledger.charge("one more", epsilon=1e-9)
    assert len(ledger.charges) == 10


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan")])
def test_a_release_without_a_cost_is_refused(wrong: float) -> None:
    with pytest.raises(BudgetInvalid):
        PureLedger(1.0).charge("nothing", epsilon=wrong)


def test_the_statement_gives_the_sum_the_shares_and_what_two_silos_cost() -> None:
    statement = state_pure(_spent(0.25, 0.75), model="silos", silos=10)
    assert (statement.epsilon, statement.delta, statement.mu) == (1.0, 0.0, 0.0)
    assert [release.share for release in statement.releases] == [0.25, 0.75]
    assert statement.silos is not None
    assert statement.silos.epsilon_in_two == 2.0
    text = str(statement)
    assert "epsilon 1 at delta 0" in text
    assert "charged twice: epsilon 2" in text
    assert Statement.from_json(statement.to_json()) == statement


def test_a_device_is_protected_against_any_change_of_its_ratings() -> None:
    statement = state_pure(_spent(1.0), model="local")
    assert statement.relation == "replace all of one user's ratings"
    assert "transcript of a device" in str(statement)


def test_a_pure_statement_that_promises_more_than_was_paid_is_refused() -> None:
    text = state_pure(_spent(0.25, 0.75), model="local").to_json()
    assert '"epsilon": 1.0,' in text
    with pytest.raises(ModelInvalid, match="cost together"):
        Statement.from_json(text.replace('"epsilon": 1.0,', '"epsilon": 0.9,', 1))


@pytest.mark.parametrize(
    ("promise", "words"), [({"epsilon_in_two": 0.5}, "two silos"), ({"delta": 0.5}, "take from it")]
)
def test_a_forged_pure_statement_is_refused(promise: dict[str, float], words: str) -> None:
    fields = json.loads(state_pure(_spent(1.0), model="silos", silos=3).to_json())
    (fields["silos"] if "epsilon_in_two" in promise else fields["releases"][0]).update(promise)
    with pytest.raises(ModelInvalid, match=words):
        Statement.from_json(json.dumps(fields))


def test_a_fixed_key_voids_a_pure_statement() -> None:
    ledger = _spent(1.0)
    ledger.void(FIXED_KEY)
    statement = state_pure(ledger, model="local")
    assert not statement.private
    assert statement.epsilon is None


def test_a_user_in_two_silos_pays_for_twice_the_change() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    ledger.redeem(ledger.charge("round 1", mu=ledger.remaining_mu))
    statement = Statement.over_silos(ledger, SiloTerms(5, 3, "shares"))
    assert statement.model == "silos"
    assert statement.silos is not None
    assert statement.mu is not None
    assert delta_from(2.0 * statement.mu, statement.silos.epsilon_in_two) <= 1e-6
    assert delta_from(2.0 * statement.mu, 0.99 * statement.silos.epsilon_in_two) > 1e-6
    assert "enough if 3 of them are honest" in " ".join(str(statement).split())
