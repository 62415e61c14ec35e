"""One statement over silos that each promised their own: never less than any of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ModelInvalid
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.statement import SiloTerms, Statement, state_over_silos


def pure(epsilon: float, spent: float = 1.0) -> Statement:
    ledger = PureLedger(epsilon)
    ledger.redeem(ledger.charge("a release", epsilon=epsilon * spent))
    return state_pure(ledger, model="silos")


def gaussian(epsilon: float, delta: float) -> Statement:
    budget = Budget(epsilon, delta)
    ledger = Ledger(budget)
    ledger.redeem(ledger.charge("a release", mu=0.5 * budget.mu_for(0.0)))
    return Statement.over_silos(ledger, SiloTerms(None, 1, "each silo"), adaptive=True)


epsilons = st.floats(0.1, 20.0)
silos = st.one_of(
    st.builds(pure, epsilons, st.floats(0.1, 1.0)),
    st.builds(gaussian, epsilons, st.sampled_from([1e-8, 1e-6, 1e-4])),
)


@given(st.lists(silos, min_size=1, max_size=5))
def test_nobody_is_promised_more_than_their_own_silo_promised(statements: list[Statement]) -> None:
    over = state_over_silos(statements)
    assert over.private
    assert over.silos is not None
    assert (over.model, over.silos.count) == ("silos", len(statements))
    for own in statements:
        assert own.silos is not None
        assert over.epsilon is not None
        assert over.epsilon >= (own.epsilon or 0.0)
        assert (over.delta or 0.0) >= (own.delta or 0.0)
        assert over.silos.epsilon_in_two >= own.silos.epsilon_in_two
    assert Statement.from_json(over.to_json()) == over


def test_a_user_of_a_silo_without_delta_and_one_with_pays_both() -> None:
    over = state_over_silos([pure(4.0), gaussian(6.0, 1e-6)])
    assert over.silos is not None
    assert over.silos.epsilon_in_two >= 10.0
    assert over.releases == gaussian(6.0, 1e-6).releases


def test_whoever_carries_unlike_silos_pays_for_the_worst_of_them() -> None:
    """Their mu is one silo's and their epsilon another's: as one Gaussian run they would cost a user too little."""
    together = state_over_silos([pure(3.0), gaussian(1.0, 1e-6)])
    (carried,) = together.carried("ab" * 32).runs
    assert carried.price.cost.epsilon(1e-6) >= 3.0
    for delta in (1e-9, 1e-3):
        assert carried.price.cost.epsilon(delta) >= 3.0


def test_one_silo_that_promises_nothing_is_enough() -> None:
    over = state_over_silos([pure(4.0), Statement.not_private("its noise can be drawn again")])
    assert not over.private
    assert over.reason == "its noise can be drawn again"


def test_who_does_not_say_what_two_silos_cost_is_refused() -> None:
    silent = pure(4.0).model_copy(update={"silos": None})
    with pytest.raises(ModelInvalid, match="two silos"):
        state_over_silos([pure(4.0), silent])
    with pytest.raises(ModelInvalid, match="no silo"):
        state_over_silos([])
