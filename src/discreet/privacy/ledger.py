"""The ledger of one run: a release that is not charged, or exceeds the budget, is refused.

A charge is a token: it is known by which object it is, so a copy is worthless, and it lets a release out once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from threading import Lock
from types import MappingProxyType
from typing import Protocol

from discreet.errors import BudgetExceeded, BudgetInvalid, UnchargedRelease
from discreet.privacy.accounting import compose, epsilon_from, remaining
from discreet.privacy.budget import Budget

__all__ = ["Charge", "Charges", "Detail", "Journal", "Ledger"]

# Relative, on mu (1e-12 on the sum of squares). Shares of a budget rarely add up to it to the last bit;
# mu_from holds back more than this, so the promise covers it.
_TOLERANCE = 5e-13

Detail = str | int | float | bool


@dataclass(frozen=True, slots=True, eq=False)
class Charge:
    """What one release costs: ``mu``, and what it takes from delta directly, or ``epsilon`` where there is no delta."""

    name: str
    mu: float
    epsilon: float
    delta: float
    detail: Mapping[str, Detail]


class Journal(Protocol):
    """Where charges are written so that they outlive the process (:mod:`discreet.privacy.account`)."""

    def charge(self, charge: Charge) -> None:
        """Write a charge down for good; raises where it cannot be, and then it must not count."""


class Charges(ABC):
    """The charges of one run. Safe to use from several threads."""

    def __init__(self) -> None:
        self._charges: list[Charge] = []
        self._redeemed: list[bool] = []
        self._closed = False
        self._fault: str | None = None
        self._journal: Journal | None = None
        self._lock = Lock()

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges so far, in order."""
        with self._lock:
            return tuple(self._charges)

    @property
    def closed(self) -> bool:
        """Whether the run has ended."""
        with self._lock:
            return self._closed

    @property
    def fault(self) -> str | None:
        """Why nothing that was charged here is private, where that is so (:meth:`void`)."""
        with self._lock:
            return self._fault

    def void(self, reason: str | None) -> None:
        """Note why the run is not private, if there is a reason. The first one stays, and the statement gives it."""
        with self._lock:
            self._fault = self._fault or reason

    def keep_in(self, journal: Journal | None) -> None:
        """Write every charge from now on into a journal before it counts."""
        with self._lock:
            self._journal = journal

    def redeem(self, charge: Charge) -> None:
        """Use up a token. A gate calls this once for each release, and releases only if it returns."""
        with self._lock:
            found = next((i for i, known in enumerate(self._charges) if known is charge), None)
            if found is None:
                raise UnchargedRelease(f"a release was not charged to this run's ledger: {charge!r}")
            if self._closed:
                raise UnchargedRelease(f"{charge.name!r} cannot be released: the run is over")
            if self._redeemed[found]:
                raise UnchargedRelease(
                    f"{charge.name!r} was released already; each release is charged on its own"
                )
            self._redeemed[found] = True

    def close(self) -> None:
        """End the run. What was charged stays spent, released or not; closing twice is harmless."""
        with self._lock:
            self._closed = True

    def _pay(
        self, name: str, mu: float, epsilon: float, delta: float, detail: Mapping[str, Detail] | None
    ) -> Charge:
        """Enter a charge, unless the run is over or cannot afford it."""
        charge = Charge(_checked_name(name), mu, epsilon, delta, _checked_detail(name, detail))
        with self._lock:
            if self._closed:
                raise UnchargedRelease(
                    f"{charge.name!r} cannot be charged: the run is over and its statement is fixed"
                )
            self._refuse_excess(charge)
            if self._journal is not None:
                self._journal.charge(charge)
            self._charges.append(charge)
            self._redeemed.append(False)
        return charge

    @abstractmethod
    def _refuse_excess(self, charge: Charge) -> None:
        """Raise BudgetExceeded where this charge, beside those before it, passes the budget."""


class Ledger(Charges):
    """Keeps one run within its budget.

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
        return remaining(self.budget.mu_for(self.spent_delta), self.spent_mu)

    @property
    def epsilon_spent(self) -> float:
        """Epsilon owed for all charges at the budget's delta, rounded up; never above the budget's."""
        owed = epsilon_from(self.spent_mu, self.budget.delta, self.spent_delta)
        # A run that spends everything owes its budget; the search for epsilon may end some 1e-14 above it.
        return min(owed, self.budget.epsilon)

    def charge(
        self, name: str, *, mu: float, delta: float = 0.0, detail: Mapping[str, Detail] | None = None
    ) -> Charge:
        """Pay for one release, before its noise is drawn."""
        return self._pay(name, _release_mu(name, mu), 0.0, _release_delta(name, delta), detail)

    def _refuse_excess(self, charge: Charge) -> None:
        budget, spent = self.budget, compose(known.mu for known in self._charges)
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


def _checked_name(name: str) -> str:
    """A release's name, which the statement must be able to show."""
    if not isinstance(name, str) or not name.strip():
        raise BudgetInvalid(f"a release needs a name for the privacy statement, got {name!r}")
    return name


def _checked_detail(name: str, detail: Mapping[str, Detail] | None) -> Mapping[str, Detail]:
    """Public facts about a release, fixed and fit for JSON."""
    return MappingProxyType({key: _fact(name, key, value) for key, value in (detail or {}).items()})


def _fact(name: str, key: str, value: object) -> Detail:
    """A plain value that JSON can hold, so that the statement cannot fail after the money is spent."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(float(value)):
        return float(value)
    raise BudgetInvalid(f"detail {key!r} of {name!r} must be text or a finite number, got {value!r}")
