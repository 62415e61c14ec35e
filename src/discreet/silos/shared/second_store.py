"""Two stores of one silo in one run: what a server that keeps everything then holds, and what that costs.

A silo's store is its memory of what it has answered. A second one (a copy of the machine, a mistyped ``--store``)
answers the same questions again with other noise. Proof note: ``proofs/second_store.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import Refused
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import AnyAgreement

__all__ = [
    "CHARGE",
    "SecondStore",
    "SecondStoreCost",
    "cost_of",
    "raised_budget",
    "raised_statement",
    "unstated_mu",
]

CHARGE = "a second store of this silo has answered too"
"""What ledgers and statements call what it may have cost."""
# Conversions are rounded the safe way, in both directions: a budget must hold what it was made from.
_ROOM = 1.0 + 1e-9


class SecondStore(Refused):
    """A second store of a silo takes part, or has tried to.

    Parameters
    ----------
    words
        What happened.
    silo
        Whose store.
    """

    def __init__(self, words: str, silo: str) -> None:
        super().__init__(words)
        self.silo = silo


@dataclass(frozen=True)
class SecondStoreCost:
    """What holds for the silo's users towards a server that has kept both stores' answers.

    Parameters
    ----------
    same
        Epsilon where both stores answered from the same ratings.
    any
        Epsilon whatever ratings they had; what ledgers say.
    delta
        That goes with both.
    mu
        Gaussian cost that goes with ``any``; ``None`` where epsilons are added.
    """

    same: float
    any: float
    delta: float
    mu: float | None

    def words(self, silo: str) -> str:
        """For statements and people."""
        delta = f" (delta {self.delta:g})" if self.delta else ""
        held = (
            f"epsilon {self.any:.4g}{delta}"
            if self.any <= self.same * _ROOM
            else f"epsilon {self.same:.4g}{delta} if both had the same ratings, {self.any:.4g} if not"
        )
        return f"users of {silo} towards the server, which has answers of two of its stores: {held} at most"


def cost_of(agreement: AnyAgreement) -> SecondStoreCost:
    """What two stores of one silo cost its users at most, if both have answered all there was to answer."""
    if not isinstance(agreement, Agreement):
        twice = 2.0 * agreement.epsilon
        return SecondStoreCost(twice, twice, 2.0 * agreement.delta, None)
    budget, honest = agreement.budget, agreement.honest if agreement.noise == "shares" else 1
    same, any_ = (budget.mu * math.sqrt(2.0 * factor) for factor in (honest / (2.0 * honest - 1.0), honest))
    return SecondStoreCost(
        epsilon_from(same, budget.delta),
        epsilon_from(any_, budget.delta) * _ROOM,
        budget.delta,
        any_,
    )


def raised_budget(agreement: Agreement) -> Budget:
    """What the ledger of a silo with two stores must hold."""
    cost = cost_of(agreement)
    return Budget(cost.any, cost.delta)


def unstated_mu(agreement: Agreement, spent_mu: float) -> float:
    """What the second store may have cost beyond what this one was charged."""
    cost = cost_of(agreement).mu
    assert cost is not None
    return math.sqrt(max(cost**2 - spent_mu**2, 0.0))


def raised_statement(own: Statement) -> Statement:
    """A silo's statement of one message, where a second store may have sent another: both are owed."""
    if not own.private:
        return own
    again = tuple(
        release.model_copy(update={"name": f"{release.name} ({CHARGE})", "share": release.share / 2.0})
        for release in own.releases
    )
    once = tuple(release.model_copy(update={"share": release.share / 2.0}) for release in own.releases)
    silos = own.silos
    raised = {
        "epsilon": 2.0 * (own.epsilon or 0.0),
        "delta": 2.0 * (own.delta or 0.0),
        "mu": math.sqrt(2.0) * (own.mu or 0.0) * _ROOM,
        "releases": (*once, *again),
        "silos": None
        if silos is None
        else silos.model_copy(update={"epsilon_in_two": 2.0 * silos.epsilon_in_two}),
    }
    return Statement.model_validate({**dict(own), **raised})
