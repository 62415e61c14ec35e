"""What all organisations have signed up to, out of band, before each of them sends its prototypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from discreet.catalogue import Catalogue, RatingScale
from discreet.errors import SettingsInvalid
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.methods.public_half import check_features
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import PureLedger
from discreet.silos.shared.base_agreement import BaseAgreement, Name

__all__ = ["PrototypeAgreement"]


class PrototypeAgreement(BaseAgreement):
    """All there is to know but the ratings: no question is asked; see :class:`BaseAgreement`.

    Attributes
    ----------
    silos
        Names of the organisations, sorted.
    settings, factors
        Of what each silo does, and of what the server makes of it.
    """

    method: Literal["prototypes"] = "prototypes"
    silos: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]
    settings: PrototypeSettings
    factors: FactorSettings

    @classmethod
    def make(
        cls,
        name: str,
        *,
        silos: Iterable[str],
        epsilon: float,
        catalogue: Catalogue,
        rating_range: tuple[float, float] | None,
        settings: PrototypeSettings | None = None,
        factors: FactorSettings | None = None,
        seed: int | None = None,
        signing_keys: Mapping[str, str] | None = None,
        server_key: str | None = None,
    ) -> PrototypeAgreement:
        """A new run."""
        return cls._make(
            name,
            catalogue=catalogue,
            rating_range=rating_range,
            seed=seed,
            signing_keys=signing_keys,
            server_key=server_key,
            silos=tuple(sorted(silos)),
            epsilon=epsilon,
            settings=PrototypeSettings() if settings is None else settings,
            factors=FactorSettings() if factors is None else factors,
        )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            check_features(self.method, used=False, given=self.features is not None)
        except SettingsInvalid as error:
            raise ValueError(str(error)) from None
        if self.silos != tuple(sorted(self.silos)):
            raise ValueError("the silos must be in the order of their names")
        if self.rating_range is not None and self.rating_range[0] < 0.0:
            raise ValueError(
                "prototypes are non-negative: shift the rating range so that it starts at 0 or above"
            )
        return self

    @property
    def roster(self) -> tuple[str, ...]:
        """Names of all silos, sorted."""
        return self.silos

    @property
    def delta(self) -> float:
        """What each silo's users may spend beside epsilon; nothing with the paper's clustering."""
        return self.settings.delta if self.settings.clustering == "lloyd" else 0.0

    @property
    def scale(self) -> RatingScale:
        """Of the ratings."""
        return RatingScale(self.rating_range)

    @property
    def smallest_roster(self) -> int:
        """Fewest silos that a run may have: each silo's message is private on its own."""
        return 1

    def check_budget(self) -> None:
        """Refuse a budget that is none."""
        if self.settings.clustering == "lloyd":
            Budget(self.epsilon, self.delta).check_users(self.settings.users)
        else:
            PureLedger(self.epsilon)
