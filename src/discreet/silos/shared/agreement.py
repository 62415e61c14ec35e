"""What all organisations have signed up to, out of band, before they train together: one JSON file for all.

There are two ways: contributions summed round by round, and one message of private prototypes from each silo.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from discreet.catalogue import Catalogue, ItemFeatures, RatingScale
from discreet.catalogue.feature_columns import Kind
from discreet.catalogue.scale import why_no_range
from discreet.errors import Refused, SettingsInvalid
from discreet.methods.lookup import check_allowed, find_public_half
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.methods.public.half import Facts, PublicHalf, check_features
from discreet.methods.public.protocol import ProtocolRun
from discreet.methods.public.settings import PrivateSettings
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.ledger import PureLedger

__all__ = [
    "Agreement",
    "AnyAgreement",
    "BaseAgreement",
    "Name",
    "PrototypeAgreement",
    "load_agreement",
    "parse_agreement",
]

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
_LARGEST_FILE = 1 << 20
# Names of columns go into every statement, which must fit into a message.
_MOST_FEATURES, _LONGEST_FEATURE = 64, 200
_MOST_WORDS = 2 << 20
"""Bytes that a message has at most beside its numbers: header or statement, and signature."""
# A model of items with features has weights for each column of their matrix: a few vocabularies of 50,000 words for
# each feature, times the rank.
_FEATURE_NUMBERS = 10_000_000

Name = Annotated[str, Field(pattern=_NAME)]
_Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class BaseAgreement(BaseModel):
    """What both ways to train together are agreed on.

    ``epsilon`` is what each silo's users may spend. ``catalogue`` is the digest of the public items; no rating range
    means clicks; the seed is that of the random start of the factors. Signing keys (Ed25519, hex) say who has sent
    what, whatever carried it; they are absent where all parties are one process. ``features`` are columns of the
    catalogue with their kinds, and come with the digest of the matrix that they make.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    version: Literal[1] = 1
    name: Annotated[str, Field(min_length=1, max_length=200)]
    nonce: _Hex32
    method: str
    silos: dict[Name, _Hex32] | tuple[Name, ...]
    epsilon: float
    catalogue: _Hex32
    n_items: Annotated[int, Field(ge=2, lt=2**31)]
    rating_range: tuple[float, float] | None
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    signing_keys: Annotated[dict[Name, _Hex32], Field(min_length=1, max_length=1000)] | None = None
    server_key: _Hex32 | None = None
    features: (
        Annotated[
            dict[Annotated[str, Field(min_length=1, max_length=_LONGEST_FEATURE)], Kind],
            Field(min_length=1, max_length=_MOST_FEATURES),
        ]
        | None
    ) = None
    features_digest: _Hex32 | None = None

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """An agreement from the text of its file, checked."""
        try:
            agreement = cls.model_validate_json(text)
        except ValidationError as error:
            raise _refused(error) from None
        return agreement._checked()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an agreement, checked."""
        return cls.parse(_text_of(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it for the others to compare and keep."""
        Path(path).write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the agreement in one canonical form."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def run_id(self) -> str:
        """What messages of the run carry; follows from the agreement and its nonce."""
        return self.digest[:32]

    @property
    def explicit(self) -> bool:
        """Ratings rather than clicks."""
        return self.rating_range is not None

    @property
    def scale(self) -> RatingScale:
        """Of the ratings."""
        return RatingScale(self.rating_range)

    @property
    def roster(self) -> tuple[str, ...]:
        """Names of all silos, sorted."""
        return tuple(sorted(self.silos))

    @property
    def most_bytes(self) -> int:
        """Length that no message of the run exceeds, in either direction."""
        raise NotImplementedError

    def check_budget(self) -> None:
        """Refuse a budget that is none."""
        raise NotImplementedError

    def check_features(self, features: ItemFeatures | None) -> None:
        """Refuse features of the items other than those agreed on; all parties must work out the same questions."""
        if (None if features is None else features.digest) == self.features_digest:
            return
        if self.features is None:
            raise Refused(
                "the catalogue has item features, and none were agreed on; read it without features"
            )
        named = ", ".join(f"{name}:{kind}" for name, kind in self.features.items())
        raise Refused(
            f"the catalogue's item features are not those agreed on ({named}); read them from the file that the "
            "agreement was made with"
            if features is not None
            else f"item features were agreed on ({named}), and the catalogue has none; read it with these"
        )

    @classmethod
    def _make(
        cls,
        name: str,
        *,
        catalogue: Catalogue,
        rating_range: tuple[float, float] | None,
        seed: int | None = None,
        signing_keys: Mapping[str, str] | None = None,
        server_key: str | None = None,
        **fields: Any,
    ) -> Self:
        """A new run."""
        described = catalogue.features
        try:
            agreement = cls(
                name=name,
                nonce=secrets.token_hex(32),
                catalogue=catalogue.digest,
                n_items=len(catalogue),
                rating_range=None
                if rating_range is None
                else (float(rating_range[0]), float(rating_range[1])),
                seed=secrets.randbits(63) if seed is None else seed,
                signing_keys=None if signing_keys is None else dict(sorted(signing_keys.items())),
                server_key=server_key,
                features=None if described is None else described.encoder.kinds,
                features_digest=None if described is None else described.digest,
                **fields,
            )
        except ValidationError as error:
            raise _refused(error) from None
        return agreement._checked()

    def _checked(self) -> Self:
        try:
            self.check_budget()
        except MemoryError:
            raise SettingsInvalid(
                f"the agreement cannot be used (n_items: there is no memory here for {self.n_items:,} items)"
            ) from None
        return self

    @model_validator(mode="after")
    def _has_silos_and_a_range(self) -> Self:
        if len({name.lower() for name in self.roster}) < len(self.roster):
            raise ValueError("two silos have the same name but for capitals")
        if self.rating_range is not None and (wrong := why_no_range(*self.rating_range)):
            raise ValueError(wrong)
        if (self.features is None) != (self.features_digest is None):
            raise ValueError("features of the items come with their digest")
        if (self.signing_keys is None) != (self.server_key is None):
            raise ValueError("signing keys of the silos come with that of the server")
        if self.signing_keys is None or self.server_key is None:
            return self
        if sorted(self.signing_keys) != sorted(self.roster):
            raise ValueError("every silo needs a signing key, and nobody else")
        keys = [self.server_key, *self.signing_keys.values()]
        if len(set(keys)) < len(keys):
            raise ValueError("two parties have the same signing key")
        return self


class Agreement(BaseAgreement):
    """To sum contributions round by round: everything that a silo holds the server to.

    ``silos`` has the X25519 key of each, in hex. At least ``honest`` of them add their noise and keep their keys to
    themselves. With noise in ``"shares"`` each silo adds its part and the server is not trusted; a ``"server"`` sees
    exact totals and adds the noise. ``spare`` is the share of the budget that pays for repeats: without it a method
    that spends all in its last question, as lists do, cannot repeat that one, and a silo lost there makes the run void.
    """

    method: Annotated[str, Field(min_length=1, max_length=200)] = "budgeted"
    silos: Annotated[dict[Name, _Hex32], Field(min_length=1, max_length=1000)]
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
        settings: PrivateSettings | None = None,
        honest: int | None = None,
        noise: Literal["shares", "server"] = "shares",
        **fields: Any,
    ) -> Self:
        """A new run. By default more than half of the silos must be honest where the noise comes in shares."""
        if honest is None:
            honest = len(silos) // 2 + 1 if noise == "shares" else 1
        return cls._make(
            name,
            silos=dict(sorted(silos.items())),
            epsilon=budget.epsilon,
            delta=budget.delta,
            settings={} if settings is None else settings.model_dump(mode="json"),
            honest=honest,
            noise=noise,
            **fields,
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
        excess = self.noise_excess(len(self.silos))
        return Facts(self.n_items, self.scale, self.budget, mu, excess, features=features)

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
    def most_bytes(self) -> int:
        """Length that no message of the run exceeds."""
        numbers = self.half.numbers(self.settings, self.n_items)
        return _MOST_WORDS + 8 * (numbers + _FEATURE_NUMBERS * len(self.features or ()))

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


class PrototypeAgreement(BaseAgreement):
    """To send one message of prototypes each: all there is to know but the ratings, as no question is asked."""

    method: Literal["prototypes"] = "prototypes"
    silos: Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]
    settings: PrototypeSettings = PrototypeSettings()
    factors: FactorSettings = FactorSettings()

    @classmethod
    def make(cls, name: str, *, silos: Iterable[str], **fields: Any) -> Self:
        """A new run."""
        return cls._make(name, silos=tuple(sorted(silos)), **fields)

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
    def delta(self) -> float:
        """What each silo's users may spend beside epsilon; nothing with the paper's clustering."""
        return self.settings.delta if self.settings.clustering == "lloyd" else 0.0

    @property
    def most_bytes(self) -> int:
        """Length that no message of the run exceeds."""
        prototypes, items = self.settings.most_prototypes, self.n_items
        # Prototypes with a bit for each entry, or evidence, which has two numbers more for each item; and the model's
        # offsets and factors.
        up = prototypes * items // 8 + 1 + 4 * prototypes * (items + 1) + 8 * items
        return _MOST_WORDS + max(up, 8 * items * (1 + self.factors.rank))

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


AnyAgreement: TypeAlias = Agreement | PrototypeAgreement


def load_agreement(path: str | os.PathLike[str]) -> AnyAgreement:
    """Read an agreement of either kind, checked."""
    return parse_agreement(_text_of(path))


def parse_agreement(text: bytes) -> AnyAgreement:
    """An agreement of either kind from the text of its file, checked."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and content.get("method") == "prototypes":
        return PrototypeAgreement.parse(text)
    return Agreement.parse(text)


def _text_of(path: str | os.PathLike[str]) -> bytes:
    """The text of an agreement's file."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise SettingsInvalid(f"the agreement {path} cannot be read: {error.strerror}") from None
    if len(text) > _LARGEST_FILE:
        raise SettingsInvalid(f"{path} is too large to be an agreement")
    return text


def _refused(error: ValidationError) -> SettingsInvalid:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the whole"
    if where == "method":
        return SettingsInvalid(f"this is not for agreements of this method ({first['msg']})")
    return SettingsInvalid(f"the agreement cannot be used ({where}: {first['msg']})")
