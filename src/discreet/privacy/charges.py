"""Charges as tokens: a release must be charged before it is made, and a charge is used once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from threading import Lock
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from discreet.errors import BudgetInvalid, UnchargedRelease

__all__ = ["Detail", "Journal", "Token", "Tokens", "checked_detail", "checked_name"]

Detail = str | int | float | bool


class Token(Protocol):
    """A charge with a name; known by which object it is, so a copy is worthless."""

    @property
    def name(self) -> str:
        """What is released, in words."""


Cost = TypeVar("Cost", bound=Token)
Written = TypeVar("Written", contravariant=True)


class Journal(Protocol[Written]):
    """Where charges are written so that they outlive the process (:mod:`discreet.privacy.account`)."""

    def charge(self, charge: Written) -> None:
        """Write a charge down for good; raises where it cannot be, and then it must not count."""


class Tokens(ABC, Generic[Cost]):
    """The charges of one run. Safe to use from several threads."""

    def __init__(self) -> None:
        self._charges: list[Cost] = []
        self._redeemed: list[bool] = []
        self._closed = False
        self._fault: str | None = None
        self._journal: Journal[Cost] | None = None
        self._lock = Lock()

    @property
    def charges(self) -> tuple[Cost, ...]:
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

    def keep_in(self, journal: Journal[Cost] | None) -> None:
        """Write every charge from now on into a journal before it counts."""
        with self._lock:
            self._journal = journal

    def redeem(self, charge: Cost) -> None:
        """Use up a token. A gate calls this once for each release, and releases only if it returns.

        Raises
        ------
        UnchargedRelease
            When the token was used before, belongs to another run, or the run is over.
        """
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

    def _pay(self, charge: Cost) -> Cost:
        """Enter a charge, unless the run is over or cannot afford it."""
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
    def _refuse_excess(self, charge: Cost) -> None:
        """Raise BudgetExceeded where this charge, beside those before it, passes the budget."""


def checked_name(name: str) -> str:
    """A release's name, which the statement must be able to show."""
    if not isinstance(name, str) or not name.strip():
        raise BudgetInvalid(f"a release needs a name for the privacy statement, got {name!r}")
    return name


def checked_detail(name: str, detail: Mapping[str, Detail] | None) -> Mapping[str, Detail]:
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
