"""What all organisations have signed up to, out of band, before they train budgeted ALS together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from discreet.catalogue import Catalogue
from discreet.methods.settings import BudgetedSettings
from discreet.privacy.budget import Budget
from discreet.silos.shared.base_agreement import Agreed, Hex32, Name, catalogue_digest

__all__ = ["Agreement", "catalogue_digest"]


class Agreement(Agreed):
    """Everything that a silo holds the server to; see also :class:`discreet.silos.shared.base_agreement.Agreed`.

    Attributes
    ----------
    silos
        X25519 public key (hex) of each organisation, by name.
    epsilon, delta
        What each silo's users may spend in the run.
    settings
        Of budgeted ALS.
    honest
        How many silos at least add their noise and keep their keys to themselves.
    noise
        ``"shares"``: each silo adds its part, the server is not trusted. ``"server"``: the server sees exact totals and
        adds the noise.
    """

    method: Literal["budgeted"] = "budgeted"
    silos: Annotated[dict[Name, Hex32], Field(min_length=1, max_length=1000)]
    delta: float
    settings: BudgetedSettings
    honest: Annotated[int, Field(ge=1)]
    noise: Literal["shares", "server"]

    @classmethod
    def make(
        cls,
        name: str,
        *,
        silos: Mapping[str, str],
        budget: Budget,
        catalogue: Catalogue,
        rating_range: tuple[float, float] | None,
        settings: BudgetedSettings | None = None,
        honest: int | None = None,
        noise: Literal["shares", "server"] = "shares",
        seed: int | None = None,
    ) -> Agreement:
        """A new run. By default more than half of the silos must be honest where the noise comes in shares."""
        if honest is None:
            honest = len(silos) // 2 + 1 if noise == "shares" else 1
        return cls._make(
            name,
            catalogue=catalogue,
            rating_range=rating_range,
            seed=seed,
            silos=dict(sorted(silos.items())),
            epsilon=budget.epsilon,
            delta=budget.delta,
            settings=BudgetedSettings() if settings is None else settings,
            honest=honest,
            noise=noise,
        )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.honest > len(self.silos):
            raise ValueError(f"{self.honest} honest silos were asked for, and there are {len(self.silos)}")
        if len(set(self.silos.values())) < len(self.silos):
            raise ValueError("two silos have the same public key")
        if self.settings.discover_share is not None:
            raise ValueError("silos need a catalogue that all have agreed on; discover_share cannot be used")
        return self

    @property
    def budget(self) -> Budget:
        """Of every silo's users."""
        return Budget(self.epsilon, self.delta)

    def check_budget(self) -> None:
        """Refuse a budget that is none."""
        _ = self.budget

    @property
    def roster(self) -> tuple[str, ...]:
        """Names of all silos, sorted."""
        return tuple(sorted(self.silos))

    @property
    def smallest_roster(self) -> int:
        """Fewest silos a round may have: one is honest for sure, and none is alone unless it always was."""
        alone = min(2, len(self.silos))
        return alone if self.noise == "server" else max(alone, len(self.silos) - self.honest + 1)

    def noise_excess(self, roster: int) -> float:
        """How many times larger the noise of a round is than its honest silos' shares, if all of them add theirs."""
        return 1.0 if self.noise == "server" else math.sqrt(roster / self.honest_among(roster))

    def honest_among(self, roster: int) -> int:
        """How many silos of a roster of this size are honest at least, if all that were left out were honest."""
        return max(self.honest - (len(self.silos) - roster), 1)
