"""What all organisations have signed up to, out of band: one JSON file, the same to the last byte everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.catalogue import Catalogue
from discreet.errors import SettingsInvalid
from discreet.privacy.budget import Budget
from discreet.settings import BudgetedSettings

__all__ = ["Agreement", "catalogue_digest"]

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
_LARGEST_FILE = 1 << 20

Name = Annotated[str, Field(pattern=_NAME)]
Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def catalogue_digest(catalogue: Catalogue) -> str:
    """SHA-256 of the ids in their order; titles are decoration."""
    return hashlib.sha256(json.dumps(catalogue.ids.tolist()).encode()).hexdigest()


class Agreement(BaseModel):
    """Everything that a silo holds the server to.

    Attributes
    ----------
    name
        Of the run, for people.
    nonce
        Random, so that no two runs share masks.
    silos
        X25519 public key (hex) of each organisation, by name.
    epsilon, delta
        What each silo's users may spend in the run.
    settings
        Of budgeted ALS.
    catalogue, n_items, rating_range
        The public items (:func:`catalogue_digest`), and the scale; no range means clicks.
    honest
        How many silos at least add their noise and keep their keys to themselves.
    noise
        ``"shares"``: each silo adds its part, the server is not trusted. ``"server"``: the server sees exact totals and
        adds the noise.
    seed
        Of the random start of the factors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    version: Literal[1] = 1
    name: Annotated[str, Field(min_length=1, max_length=200)]
    nonce: Hex32
    silos: Annotated[dict[Name, Hex32], Field(min_length=1, max_length=1000)]
    epsilon: float
    delta: float
    settings: BudgetedSettings
    catalogue: Hex32
    n_items: Annotated[int, Field(ge=2, lt=2**31)]
    rating_range: tuple[float, float] | None
    honest: Annotated[int, Field(ge=1)]
    noise: Literal["shares", "server"]
    seed: Annotated[int, Field(ge=0, lt=2**63)]

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
        return _checked(
            cls.model_validate,
            {
                "name": name,
                "nonce": secrets.token_hex(32),
                "silos": dict(sorted(silos.items())),
                "epsilon": budget.epsilon,
                "delta": budget.delta,
                "settings": BudgetedSettings() if settings is None else settings,
                "catalogue": catalogue_digest(catalogue),
                "n_items": len(catalogue),
                "rating_range": None if rating_range is None else tuple(map(float, rating_range)),
                "honest": honest,
                "noise": noise,
                "seed": secrets.randbits(63) if seed is None else seed,
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Agreement:
        """Read an agreement, checked."""
        try:
            with Path(path).open("rb") as file:
                text = file.read(_LARGEST_FILE + 1)
        except OSError as error:
            raise SettingsInvalid(f"the agreement {path} cannot be read: {error.strerror}") from None
        if len(text) > _LARGEST_FILE:
            raise SettingsInvalid(f"{path} is too large to be an agreement")
        return _checked(cls.model_validate_json, text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it for the others to compare and keep."""
        Path(path).write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.honest > len(self.silos):
            raise ValueError(f"{self.honest} honest silos were asked for, and there are {len(self.silos)}")
        if len(set(self.silos.values())) < len(self.silos):
            raise ValueError("two silos have the same public key")
        if len({name.lower() for name in self.silos}) < len(self.silos):
            raise ValueError("two silos have the same name but for capitals")
        if self.rating_range is not None and not self.rating_range[0] < self.rating_range[1]:
            raise ValueError("the rating range must rise")
        if self.settings.discover_share is not None:
            raise ValueError("silos need a catalogue that all have agreed on; discover_share cannot be used")
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the agreement in one canonical form."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def run_id(self) -> str:
        """What every message of the run carries; follows from the agreement and its nonce."""
        return self.digest[:32]

    @property
    def budget(self) -> Budget:
        """Of every silo's users."""
        return Budget(self.epsilon, self.delta)

    @property
    def roster(self) -> tuple[str, ...]:
        """Names of all silos, sorted."""
        return tuple(sorted(self.silos))

    @property
    def smallest_roster(self) -> int:
        """Fewest silos a round may have: one is honest for sure, and none is alone unless it always was."""
        alone = min(2, len(self.silos))
        return alone if self.noise == "server" else max(alone, len(self.silos) - self.honest + 1)

    def honest_among(self, roster: int) -> int:
        """How many silos of a roster of this size are honest at least, if all that were left out were honest."""
        return max(self.honest - (len(self.silos) - roster), 1)

    @property
    def explicit(self) -> bool:
        """Ratings rather than clicks."""
        return self.rating_range is not None


def _checked(read: object, value: object) -> Agreement:
    assert callable(read)
    try:
        agreement: Agreement = read(value)
        _ = agreement.budget
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise SettingsInvalid(f"the agreement cannot be used ({where}: {first['msg']})") from None
    return agreement
