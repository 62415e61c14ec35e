"""The ledger of a run whose mechanisms are purely epsilon-DP: what is spent adds up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import BudgetExceeded, BudgetInvalid
from discreet.privacy.charges import Detail, Tokens, checked_detail, checked_name

__all__ = ["PureCharge", "PureLedger"]

# Shares of a budget rarely add up to it to the last bit. The sum that is stated includes whatever this lets in.
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PureCharge:
    """What one release costs, and the token that lets it out once (see :class:`discreet.privacy.ledger.Charge`)."""

    name: str
    epsilon: float
    detail: Mapping[str, Detail]


class PureLedger(Tokens[PureCharge]):
    """Keeps one run within its epsilon.

    Parameters
    ----------
    epsilon : float
        What the run may spend in total. There is no delta.

    Notes
    -----
    **Privacy.** Basic composition: mechanisms that are e_1-, e_2-, ... DP are together (e_1 + e_2 + ...)-DP, each
    chosen with knowledge of the outcomes before it. :meth:`charge` before the noise is drawn, :meth:`redeem`
    before anything leaves; what is charged never comes back.
    """

    def __init__(self, epsilon: float) -> None:
        epsilon = float(epsilon)
        if not (0.0 < epsilon < math.inf):
            raise BudgetInvalid(f"epsilon must be above zero and finite, got {epsilon}")
        super().__init__()
        self.epsilon = epsilon

    @property
    def spent(self) -> float:
        """Epsilon of all charges together."""
        return math.fsum(charge.epsilon for charge in self.charges)

    @property
    def remaining(self) -> float:
        """What one more release may cost."""
        return max(0.0, self.epsilon - self.spent)

    def charge(self, name: str, *, epsilon: float, detail: Mapping[str, Detail] | None = None) -> PureCharge:
        """Pay for one release, before its noise is drawn.

        Raises
        ------
        BudgetExceeded
            When the run would spend more than its epsilon. Nothing is charged then.
        UnchargedRelease
            When the ledger is closed.
        """
        epsilon = float(epsilon)
        if not epsilon > 0.0:
            raise BudgetInvalid(f"{name!r} must cost more than nothing, got epsilon {epsilon}")
        return self._pay(PureCharge(checked_name(name), epsilon, checked_detail(name, detail)))

    def _refuse_excess(self, charge: PureCharge) -> None:
        spent = math.fsum(known.epsilon for known in self._charges)
        if not spent + charge.epsilon <= self.epsilon * (1.0 + _TOLERANCE):
            raise BudgetExceeded(
                f"{charge.name!r} asks for epsilon {charge.epsilon:.6g}, but only "
                f"{max(0.0, self.epsilon - spent):.6g} is left of {self.epsilon:.6g}"
            )
