"""The ledger of one run: a release that is not charged, or exceeds the budget, is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import BudgetExceeded, BudgetInvalid
from discreet.privacy.accounting import compose, epsilon_from, remaining
from discreet.privacy.budget import Budget
from discreet.privacy.charges import Detail, Tokens, checked_detail, checked_name

__all__ = ["Charge", "Ledger"]

# Relative, on mu (1e-12 on the sum of squares). Shares of a budget rarely add up to it to the last bit;
# mu_from holds back more than this, so the promise covers it.
_TOLERANCE = 5e-13


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """What one release costs, and the token that lets it out once.

    Two charges are never equal: a token is known by which object it is, so a copy is worthless.
    """

    name: str
    mu: float
    delta: float
    detail: Mapping[str, Detail]


class Ledger(Tokens[Charge]):
    """Keeps one run within its budget.

    Parameters
    ----------
    budget : Budget
        What the run may spend in total.

    Notes
    -----
    **Privacy.** The order is: :meth:`charge`, add noise for ``charge.mu``, :meth:`redeem`, release. What is
    charged never comes back, released or not. What is released may depend on earlier releases; what it costs
    must be fixed by public settings (``proofs/accounting.md``). Safe to use from several threads.
    """

    def __init__(self, budget: Budget) -> None:
        if not isinstance(budget, Budget):
            raise BudgetInvalid(
                f"a ledger needs a Budget(epsilon=..., delta=...), got {type(budget).__name__}"
            )
        super().__init__()
        self._budget = budget

    @property
    def budget(self) -> Budget:
        """What the run may spend."""
        return self._budget

    @property
    def spent_mu(self) -> float:
        """Composed Gaussian cost of all charges."""
        return compose(charge.mu for charge in self.charges)

    @property
    def spent_delta(self) -> float:
        """Sum of what the charges take from delta directly."""
        return math.fsum(charge.delta for charge in self.charges)

    @property
    def remaining_mu(self) -> float:
        """Gaussian cost one more release may have, if it takes nothing from delta."""
        charges = self.charges
        spent = compose(charge.mu for charge in charges)
        allowed = self._budget.mu_for(math.fsum(charge.delta for charge in charges))
        return remaining(allowed, spent)

    @property
    def epsilon_spent(self) -> float:
        """Epsilon owed for all charges at the budget's delta, rounded up; never above the budget's."""
        charges = self.charges
        spent = compose(charge.mu for charge in charges)
        extra = math.fsum(charge.delta for charge in charges)
        # A run that spends everything owes its budget; the search for epsilon may end some 1e-14 above it.
        return min(epsilon_from(spent, self._budget.delta, extra), self._budget.epsilon)

    def charge(
        self, name: str, *, mu: float, delta: float = 0.0, detail: Mapping[str, Detail] | None = None
    ) -> Charge:
        """Pay for one release, before its noise is drawn.

        Parameters
        ----------
        name : str
            What is released, in words a reader of the privacy statement understands.
        mu : float
            L2 sensitivity divided by the standard deviation of the noise; above zero and finite.
        delta : float
            What the release takes from delta directly (a threshold that may fail, say).
        detail : mapping, optional
            Public facts about the release for the statement, such as the noise scale.

        Returns
        -------
        Charge
            The token to :meth:`redeem` when the release is made.

        Raises
        ------
        BudgetExceeded
            When the run would spend more than its budget. Nothing is charged then.
        UnchargedRelease
            When the ledger is closed.
        """
        return self._pay(
            Charge(
                checked_name(name),
                _release_mu(name, mu),
                _release_delta(name, delta),
                checked_detail(name, detail),
            )
        )

    def _refuse_excess(self, charge: Charge) -> None:
        budget, spent = self._budget, compose(known.mu for known in self._charges)
        extra = math.fsum([charge.delta, *(known.delta for known in self._charges)])
        allowed = budget.mu_for(extra)
        if compose([spent, charge.mu]) <= allowed * (1.0 + _TOLERANCE):
            return
        left = remaining(allowed, spent)
        raise BudgetExceeded(
            f"{charge.name!r} asks for mu {charge.mu:.6g} (delta {charge.delta:g}), but only mu {left:.6g} "
            f"is left of {budget} (mu {budget.mu:.6g} in all, {spent:.6g} spent; {extra:g} of delta is used "
            "by this and earlier charges directly). Plan fewer or noisier releases, or raise epsilon"
        )


def _release_mu(name: str, mu: float) -> float:
    mu = float(mu)
    if not mu > 0.0:
        raise BudgetInvalid(f"{name!r} must cost more than nothing, got mu {mu}")
    if math.isinf(mu):
        raise BudgetExceeded(f"{name!r} has no noise, so its cost is infinite; no budget allows that")
    return mu


def _release_delta(name: str, delta: float) -> float:
    delta = float(delta)
    if not 0.0 <= delta < 1.0:
        raise BudgetInvalid(f"{name!r} must take between 0 and 1 of delta, got {delta}")
    return delta
