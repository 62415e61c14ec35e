"""What all organisations have signed up to, out of band, before they train together by summed contributions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from discreet.catalogue import Catalogue, ItemFeatures, RatingScale
from discreet.errors import SettingsInvalid
from discreet.methods.lookup import check_allowed
from discreet.methods.protocol import ProtocolRun
from discreet.methods.public_half import Facts, PublicHalf
from discreet.methods.public_halves import find_public_half
from discreet.methods.settings import PrivateSettings
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.silos.shared.base_agreement import BaseAgreement, Hex32, Name, catalogue_digest

__all__ = ["Agreement", "catalogue_digest"]


class Agreement(BaseAgreement):
    """Everything that a silo holds the server to; see also :class:`discreet.silos.shared.base_agreement.BaseAgreement`.

    Attributes
    ----------
    silos
        X25519 public key (hex) of each organisation, by name.
    epsilon, delta
        What each silo's users may spend in the run.
    method, settings
        Any private method whose answers are Gaussian sums, by its name, and its settings.
    honest
        How many silos at least add their noise and keep their keys to themselves.
    noise
        ``"shares"``: each silo adds its part, the server is not trusted. ``"server"``: the server sees exact totals and
        adds the noise.
    spare
        Share of the budget that is held back and pays for repeats. Without it a method that spends all in its last
        question, as lists do, cannot repeat that one: a silo lost there makes the run void.
    """

    method: Annotated[str, Field(min_length=1, max_length=200)] = "budgeted"
    silos: Annotated[dict[Name, Hex32], Field(min_length=1, max_length=1000)]
    delta: float
    settings: SerializeAsAny[PrivateSettings]
    honest: Annotated[int, Field(ge=1)]
    noise: Literal["shares", "server"]
    spare: Annotated[float, Field(ge=0.0, le=0.5)] = 0.0

    @classmethod
    def make(
        cls,
        name: str,
        *,
        silos: Mapping[str, str],
        budget: Budget,
        catalogue: Catalogue,
        rating_range: tuple[float, float] | None,
        method: str = "budgeted",
        settings: PrivateSettings | None = None,
        honest: int | None = None,
        noise: Literal["shares", "server"] = "shares",
        spare: float = 0.0,
        seed: int | None = None,
        signing_keys: Mapping[str, str] | None = None,
        server_key: str | None = None,
    ) -> Agreement:
        """A new run. By default more than half of the silos must be honest where the noise comes in shares."""
        if honest is None:
            honest = len(silos) // 2 + 1 if noise == "shares" else 1
        return cls._make(
            name,
            catalogue=catalogue,
            rating_range=rating_range,
            seed=seed,
            signing_keys=signing_keys,
            server_key=server_key,
            silos=dict(sorted(silos.items())),
            epsilon=budget.epsilon,
            delta=budget.delta,
            method=method,
            settings={} if settings is None else settings.model_dump(mode="json"),
            honest=honest,
            noise=noise,
            spare=float(spare),
        )

    @field_validator("method")
    @classmethod
    def _is_summed(cls, value: str) -> str:
        try:
            check_allowed(value)
            find_public_half(value)
        except SettingsInvalid as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("settings", mode="before")
    @classmethod
    def _of_the_method(cls, value: Any, known: ValidationInfo) -> PrivateSettings:
        """The method's own settings, whole and checked."""
        if "method" not in known.data:
            raise ValueError("settings belong to a method")
        try:
            half = find_public_half(known.data["method"])
            given = value.model_dump(mode="json") if isinstance(value, PrivateSettings) else value
            if not isinstance(given, dict):
                raise ValueError("settings are an object of names and values")
            return half.settings_type.checked(**given)
        except SettingsInvalid as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.honest > len(self.silos):
            raise ValueError(f"{self.honest} honest silos were asked for, and there are {len(self.silos)}")
        if len(set(self.silos.values())) < len(self.silos):
            raise ValueError("two silos have the same public key")
        if self.settings.discover_share is not None:
            raise ValueError("silos need a catalogue that all have agreed on; discover_share cannot be used")
        try:
            self.half.check_features(self.features is not None)
        except SettingsInvalid as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def half(self) -> PublicHalf:
        """The method's public half."""
        return find_public_half(self.method)

    def facts(self, features: ItemFeatures | None) -> Facts:
        """What is public before the first question, with the items' features, which the agreement has a digest of."""
        mu = Ledger(self.budget).remaining_mu * math.sqrt(1.0 - self.spare)
        scale = RatingScale(self.rating_range)
        excess = self.noise_excess(len(self.silos))
        return Facts(self.n_items, scale, self.budget, mu, excess, features=features)

    @property
    def budget(self) -> Budget:
        """Of every silo's users."""
        return Budget(self.epsilon, self.delta)

    def check_budget(self) -> None:
        """Refuse a budget that is none, and a method that cannot ask its first question."""
        # Features, which are not at hand here, teach a method about items and cost nothing.
        if ProtocolRun(self.half, self.settings, self.facts(None), self.seed).query is None:
            raise SettingsInvalid(f"{self.method} asks nothing, so there is nothing to do together")

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
        """How many times larger a round's noise is than its honest silos' shares, if all add theirs."""
        if self.noise == "server":
            return 1.0
        return math.sqrt(roster / self.honest_among(roster))

    def honest_among(self, roster: int) -> int:
        """How many silos of a roster of this size are honest at least, if all that were left out were honest."""
        return max(self.honest - (len(self.silos) - roster), 1)
