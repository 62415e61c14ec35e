"""What one run of Gaussian releases promises: what is guaranteed and spent, what is public, what is not protected.

A model's statement (:mod:`discreet.privacy.statement`) is this, and what was known before the run, or besides it.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.errors import ModelInvalid
from discreet.privacy.accounting import compose, delta_from
from discreet.privacy.gaussian.noise import FIXED_KEY
from discreet.privacy.ledger import Charge, Detail, Ledger

__all__ = ["NOT_PROTECTED", "Frozen", "OwnCost", "Promise", "Release", "RunId", "TrustModel", "shares_of"]

NOT_PROTECTED = (
    "evaluation on private test data: its results are not noised",
    "tuning by repeated fits: every fit on the same ratings costs its own budget",
    "the fact that a model was trained",
    "the time the training took",
)
"""What no run protects, in every statement of a private one."""

TrustModel: TypeAlias = Literal["central", "silos", "local"]
"""Where the ratings are: on one server, in silos, or on people's own devices."""
RunId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
"""Known by its id, a run is counted once, by whatever way it is carried."""


class Frozen(BaseModel):
    """Part of a statement: frozen, strict, nothing unknown, no infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Release(Frozen):
    """One thing that left: its cost, and its share of its run's mu squared (or of its epsilon, where there is no mu).

    A Gaussian release costs ``mu``; one that is purely differentially private costs ``epsilon``.
    """

    name: str = Field(min_length=1)
    mu: float = Field(default=0.0, ge=0)
    epsilon: float = Field(default=0.0, ge=0)
    delta: float = Field(default=0.0, ge=0, lt=1)
    share: float = Field(ge=0, le=1)
    detail: dict[str, Detail] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _costs_something(self) -> Self:
        if (self.mu > 0.0) == (self.epsilon > 0.0):
            raise ValueError("a release costs either mu or epsilon")
        return self


class OwnCost(Frozen):
    """What one run cost by itself: of its trials any one's mu, where it was a selection."""

    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)
    mu: float = Field(ge=0)


class Promise(Frozen):
    """What is promised about one run. One that calls itself private is checked whenever it is made or read.

    What the run cost must cover the releases listed. ``run`` is the id by which it is counted once, wherever it is
    carried to. ``domain`` says which data sets the promise is about, and what becomes of rows that cannot be used;
    ``goal`` what the model was trained for.
    """

    private: bool
    unit: Literal["one user, with all of that user's ratings"] = "one user, with all of that user's ratings"
    relation: Literal["add or remove one user", "replace all of one user's ratings"] = (
        "add or remove one user"
    )
    model: TrustModel = "central"
    epsilon: float | None = Field(default=None, ge=0)
    delta: float | None = Field(default=None, ge=0, lt=1)
    mu: float | None = Field(default=None, ge=0)
    releases: tuple[Release, ...] = ()
    public: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = Field(default=None, min_length=1)
    fixed_noise_key: bool = False
    goal: Literal["rank", "rate"] | None = None
    run: RunId | None = None

    @classmethod
    def from_ledger(
        cls,
        ledger: Ledger,
        *,
        public: Iterable[str] = (),
        not_protected: Iterable[str] = (),
        adaptive: bool = False,
        domain: Iterable[str] = (),
        run: str | None = None,
    ) -> Self:
        """State what a run promises, and end the run: its ledger takes no further charge.

        A ledger that was made void (:meth:`~discreet.privacy.ledger.Charges.void`) gives a statement that the run
        is not private, with the reason.

        Parameters
        ----------
        public, not_protected, domain
            What was given and not read off the ratings; what is open beside :data:`NOT_PROTECTED`; which data sets the
            promise is about.
        adaptive
            Whether number or cost of the releases followed from earlier releases. The statement then gives
            the budget itself, which the ledger held whatever happened.
        run
            The run's id, where it has one already: in the ledger of a data set, or in an agreement.

        Notes
        -----
        **Privacy.** The epsilon stated is the one owed for all that was charged, released or not, at the
        budget's delta. That needs number and cost of the releases to be fixed by public settings: a sum that
        itself depends on the ratings bounds nothing (``proofs/accounting.md``). Otherwise say ``adaptive``.
        """
        ledger.close()
        releases = shares_of(ledger.charges)
        if ledger.fault is not None:
            return cls.void(ledger.fault, releases, public)
        if not releases:
            raise ModelInvalid("a run without any charged release has nothing to state; was the gate used?")
        return cls(
            private=True,
            epsilon=ledger.budget.epsilon if adaptive else ledger.epsilon_spent,
            delta=ledger.budget.delta,
            mu=ledger.budget.mu_for(ledger.spent_delta) if adaptive else ledger.spent_mu,
            releases=releases,
            public=tuple(public),
            not_protected=(*NOT_PROTECTED, *not_protected),
            domain=tuple(domain),
            run=secrets.token_hex(16) if run is None else run,
        )

    @classmethod
    def void(
        cls, fault: str, releases: tuple[Release, ...], public: Iterable[str], model: TrustModel = "central"
    ) -> Self:
        """State that a run is not private, though it has charged what it released."""
        return cls(
            private=False,
            reason=fault,
            fixed_noise_key=fault == FIXED_KEY,
            model=model,
            releases=releases,
            public=tuple(public),
        )

    @property
    def own(self) -> OwnCost:
        """What this run cost by itself."""
        if self.epsilon is None or self.delta is None or self.mu is None:
            raise ValueError("a private model needs epsilon, delta and mu")
        return OwnCost(epsilon=self.epsilon, delta=self.delta, mu=self.mu)

    @property
    def direct(self) -> float:
        """What the releases take from delta directly."""
        return math.fsum(release.delta for release in self.releases)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not self.private:
            if self.reason is None or not (self.epsilon is self.delta is self.mu is None):
                raise ValueError("a model that is not private needs a reason and has no epsilon, delta or mu")
            return self
        if self.reason is not None or self.fixed_noise_key:
            raise ValueError("a private model has no reason not to be and no fixed noise key")
        own, pure = self.own, math.fsum(release.epsilon for release in self.releases)
        if not self.releases and (own.epsilon or own.delta or own.mu):
            raise ValueError("a model without releases has epsilon, delta and mu of 0")
        # One part in 1e15 for the order of summation; delta_from rounds up by far more than that.
        if compose(release.mu for release in self.releases) > own.mu * (1.0 + 1e-15):
            raise ValueError("mu is less than what the releases cost together")
        if pure > 0.0 and any(release.mu > 0.0 for release in self.releases):
            raise ValueError("releases of one run are Gaussian, or all of them pure")
        if pure > own.epsilon:
            raise ValueError("epsilon is less than what the releases cost together")
        if self.direct > own.delta:
            raise ValueError("delta is less than what the releases take from it")
        if own.mu > 0.0 and not self._covers(own):
            raise ValueError("epsilon and delta promise more than mu allows")
        return self

    def _covers(self, own: OwnCost) -> bool:
        """Whether epsilon and delta are as large as mu makes them."""
        return delta_from(own.mu, own.epsilon) + self.direct <= own.delta


def shares_of(charges: Sequence[Charge | Release]) -> tuple[Release, ...]:
    """Gaussian releases with their shares of mu squared."""
    total = compose(charge.mu for charge in charges)
    return tuple(
        Release(
            name=charge.name,
            mu=charge.mu,
            delta=charge.delta,
            share=min(1.0, (charge.mu / total) ** 2),
            detail=dict(charge.detail),
        )
        for charge in charges
    )
