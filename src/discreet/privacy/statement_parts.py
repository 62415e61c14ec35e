"""Parts of a privacy statement: what was released, what one run cost, how silos trained together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.privacy.accounting import compose, epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Charge, Detail

__all__ = ["OwnCost", "Release", "SiloTerms", "Silos", "owed_in_silos", "shares_of"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Release(_Frozen):
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


class Silos(_Frozen):
    """How several organisations trained together.

    ``count`` is ``None`` where a silo speaks for itself alone. At least ``honest`` silos must have added their noise
    for the statement to hold against the server; ``noise`` says who adds it. ``epsilon_in_two`` is what a user pays
    whose ratings are in two silos.
    """

    count: int | None = Field(default=None, ge=1)
    honest: int = Field(ge=1)
    noise: Literal["shares", "server", "each silo"]
    epsilon_in_two: float = Field(gt=0)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.count is not None and self.honest > self.count:
            raise ValueError("more honest silos than silos")
        return self


@dataclass(frozen=True)
class SiloTerms:
    """How many silos there are, how many must be honest, and who adds the noise."""

    count: int | None
    honest: int
    noise: Literal["shares", "server", "each silo"]


class OwnCost(_Frozen):
    """What one run cost by itself: of its trials any one's mu, where it was a selection."""

    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)
    mu: float = Field(ge=0)


def owed_in_silos(terms: SiloTerms, budget: Budget, mu: float | None = None) -> Silos:
    """What a user in two silos pays, where one in a single silo pays `mu`: the whole budget if left out.

    Both contributions move the same sum, so its change is twice as large; where each silo releases sums of its own,
    these are two releases of the same cost.
    """
    mu = budget.mu_for(0.0) if mu is None else mu
    both = compose([mu, mu]) if terms.noise == "each silo" else 2.0 * mu
    twice = epsilon_from(both, budget.delta)
    return Silos(count=terms.count, honest=terms.honest, noise=terms.noise, epsilon_in_two=twice)


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
