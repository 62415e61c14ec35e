"""What every run in silos is agreed on, whatever is trained: one JSON file, the same to the last byte everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from discreet.catalogue import Catalogue, ItemFeatures
from discreet.catalogue.feature_columns import Kind
from discreet.catalogue.scale import why_no_range
from discreet.errors import Refused, SettingsInvalid

__all__ = ["BaseAgreement", "Hex32", "Name", "catalogue_digest", "read_agreement"]

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
_LARGEST_FILE = 1 << 20
# Names of columns go into every statement, which must fit into a message.
_MOST_FEATURES, _LONGEST_FEATURE = 64, 200
_MAY_BE_ABSENT = ("signing_keys", "server_key", "features", "features_digest", "spare")

Name = Annotated[str, Field(pattern=_NAME)]
Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def catalogue_digest(catalogue: Catalogue) -> str:
    """SHA-256 of the ids in their order; titles are decoration."""
    return catalogue.digest


def read_agreement(path: str | os.PathLike[str]) -> bytes:
    """The text of an agreement's file."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise SettingsInvalid(f"the agreement {path} cannot be read: {error.strerror}") from None
    if len(text) > _LARGEST_FILE:
        raise SettingsInvalid(f"{path} is too large to be an agreement")
    return text


class BaseAgreement(BaseModel):
    """The common part of agreements.

    Attributes
    ----------
    name
        Of the run, for people.
    nonce
        Random, so that no two runs are taken for each other.
    epsilon
        What each silo's users may spend in the run.
    catalogue, n_items, rating_range
        The public items (:func:`catalogue_digest`), and the scale; no range means clicks.
    seed
        Of the random start of the factors.
    signing_keys, server_key
        Ed25519 public keys (hex) of the silos by name, and of the server: who has sent what, whatever carried it. Both
        or neither; absent in older files, and where all parties are one process.
    features, features_digest
        Columns of the catalogue that are features of the items, with their kinds, and the digest of the matrix that
        they make (:attr:`discreet.catalogue.ItemFeatures.digest`); both or neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    version: Literal[1] = 1
    name: Annotated[str, Field(min_length=1, max_length=200)]
    nonce: Hex32
    epsilon: float
    catalogue: Hex32
    n_items: Annotated[int, Field(ge=2, lt=2**31)]
    rating_range: tuple[float, float] | None
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    signing_keys: Annotated[dict[Name, Hex32], Field(min_length=1, max_length=1000)] | None = None
    server_key: Hex32 | None = None
    features: (
        Annotated[
            dict[Annotated[str, Field(min_length=1, max_length=_LONGEST_FEATURE)], Kind],
            Field(min_length=1, max_length=_MOST_FEATURES),
        ]
        | None
    ) = None
    features_digest: Hex32 | None = None

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """An agreement from the text of its file, checked."""
        return cls._checked(cls.model_validate_json, text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an agreement, checked."""
        return cls.parse(read_agreement(path))

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
        """What every message of the run carries; follows from the agreement and its nonce."""
        return self.digest[:32]

    @property
    def explicit(self) -> bool:
        """Ratings rather than clicks."""
        return self.rating_range is not None

    @property
    def roster(self) -> tuple[str, ...]:
        """Names of all silos, sorted."""
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
        seed: int | None,
        signing_keys: Mapping[str, str] | None,
        server_key: str | None,
        **fields: Any,
    ) -> Self:
        described = catalogue.features
        common = {
            "name": name,
            "nonce": secrets.token_hex(32),
            "catalogue": catalogue_digest(catalogue),
            "n_items": len(catalogue),
            "rating_range": None if rating_range is None else tuple(map(float, rating_range)),
            "seed": secrets.randbits(63) if seed is None else seed,
            "signing_keys": None if signing_keys is None else dict(sorted(signing_keys.items())),
            "server_key": server_key,
            "features": None if described is None else described.encoder.kinds,
            "features_digest": None if described is None else described.digest,
        }
        return cls._checked(cls.model_validate, common | fields)

    @classmethod
    def _checked(cls, read: Callable[[Any], Self], value: object) -> Self:
        try:
            agreement = read(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the whole"
            if where == "method":
                raise SettingsInvalid(f"this is not for agreements of this method ({first['msg']})") from None
            raise SettingsInvalid(f"the agreement cannot be used ({where}: {first['msg']})") from None
        try:
            agreement.check_budget()
        except MemoryError:
            raise SettingsInvalid(
                f"the agreement cannot be used (n_items: there is no memory here for {agreement.n_items:,} items)"
            ) from None
        return agreement

    @model_validator(mode="after")
    def _has_silos_and_a_range(self) -> Self:
        if len({name.lower() for name in self.roster}) < len(self.roster):
            raise ValueError("two silos have the same name but for capitals")
        if self.rating_range is not None and (wrong := why_no_range(*self.rating_range)):
            raise ValueError(wrong)
        if (self.features is None) != (self.features_digest is None):
            raise ValueError("features of the items come with their digest")
        self._check_keys()
        return self

    def _check_keys(self) -> None:
        if (self.signing_keys is None) != (self.server_key is None):
            raise ValueError("signing keys of the silos come with that of the server")
        if self.signing_keys is None or self.server_key is None:
            return
        if sorted(self.signing_keys) != sorted(self.roster):
            raise ValueError("every silo needs a signing key, and nobody else")
        keys = [self.server_key, *self.signing_keys.values()]
        if len(set(keys)) < len(keys):
            raise ValueError("two parties have the same signing key")

    @model_serializer(mode="wrap")
    def _without_what_is_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An agreement without features or keys is written, and digested, as before there were any."""
        written: dict[str, Any] = write(self)
        absent = {name for name in _MAY_BE_ABSENT if not written.get(name, True)}
        return {key: value for key, value in written.items() if key not in absent}
