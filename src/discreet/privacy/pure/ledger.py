"""The ledger and the statement of a run without delta: epsilons add up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

from discreet.errors import BudgetExceeded, BudgetInvalid, ModelInvalid
from discreet.privacy.ledger import Charge, Charges, Detail
from discreet.privacy.promise import NOT_PROTECTED, Release
from discreet.privacy.statement import Silos, Statement

__all__ = ["PureLedger", "state_pure"]

# Relative, on epsilon. The sum that is stated includes whatever this lets in.
_PURE_TOLERANCE = 1e-12


class PureLedger(Charges):
    """Keeps one run without delta within its epsilon.

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

    def charge(self, name: str, *, epsilon: float, detail: Mapping[str, Detail] | None = None) -> Charge:
        """Pay for one release, before its noise is drawn; refused as by :class:`Ledger`."""
        epsilon = float(epsilon)
        if not epsilon > 0.0:
            raise BudgetInvalid(f"{name!r} must cost more than nothing, got epsilon {epsilon}")
        return self._pay(name, 0.0, epsilon, 0.0, detail)

    def _refuse_excess(self, charge: Charge) -> None:
        spent = math.fsum(known.epsilon for known in self._charges)
        if not spent + charge.epsilon <= self.epsilon * (1.0 + _PURE_TOLERANCE):
            raise BudgetExceeded(
                f"{charge.name!r} asks for epsilon {charge.epsilon:.6g}, but only "
                f"{max(0.0, self.epsilon - spent):.6g} is left of {self.epsilon:.6g}"
            )


def state_pure(
    ledger: PureLedger,
    *,
    model: Literal["silos", "local"],
    silos: int | None = None,
    public: Iterable[str] = (),
    not_protected: Iterable[str] = (),
    domain: Iterable[str] = (),
) -> Statement:
    """State what a run without delta promises, of one silo or one device: the whole budget that its ledger held.

    The relation is to add or remove one user over silos, and to replace all of one user's ratings on devices, as
    the transcript of one device is all there is. ``silos`` is how many silos each spent this, where it is known.
    """
    ledger.close()
    total = ledger.spent
    releases = tuple(
        Release(
            name=charge.name,
            epsilon=charge.epsilon,
            share=min(1.0, charge.epsilon / total),
            detail=dict(charge.detail),
        )
        for charge in ledger.charges
    )
    if ledger.fault is not None:
        return Statement.void(ledger.fault, releases, public, model)
    if not releases:
        raise ModelInvalid("a run without any charged release has nothing to state")
    epsilon = max(ledger.epsilon, total)
    return Statement(
        private=True,
        relation="replace all of one user's ratings" if model == "local" else "add or remove one user",
        model=model,
        epsilon=epsilon,
        delta=0.0,
        mu=0.0,
        releases=releases,
        silos=None
        if model == "local"
        else Silos(count=silos, honest=1, noise="each silo", epsilon_in_two=2.0 * epsilon),
        public=tuple(public),
        not_protected=(*NOT_PROTECTED, *not_protected),
        domain=tuple(domain),
    )
