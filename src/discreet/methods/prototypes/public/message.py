"""The message of a silo: its prototypes, and what they cost its users."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.catalogue import RatingScale
from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.methods.prototypes.public.evidence import Evidence
from discreet.methods.prototypes.public.profile import differences, offsets
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats

__all__ = ["PrototypeMessage"]

Bound = Annotated[float, Field(ge=0.0)]
Sigma = Annotated[float, Field(gt=1e-15, le=1e15)]

_MAGIC = b"discreet-prototypes-2\n"
# With evidence, from which the prototypes follow, in the place of the prototypes.
_WITH_EVIDENCE = b"discreet-prototypes-3\n"
_MOST_HEADER = 1 << 20
_MOST_BYTES = 1 << 30
_MOST_ENTRIES = 1 << 28
_LARGEST = 1e15
_NUMBERS = ("level", "level_sigma", "users", "sum_sigma", "weight_sigma", "group_sigma")


class _Header(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    kind: Literal["prototypes"]
    prototypes: int = Field(ge=1, le=10_000)
    n_items: int = Field(ge=1, le=10_000_000)
    catalogue: str = Field(pattern="^[0-9a-f]{64}$")
    rating_range: tuple[Bound, Bound] | None
    statement: Statement
    notes: tuple[str, ...] = Field(max_length=100)


class _EvidenceHeader(_Header):
    """The header of a message with evidence: prototypes are groups, or one for all users."""

    level: Annotated[float, Field(ge=-1.0, le=1.0)]
    level_sigma: Sigma
    users: Annotated[float, Field(ge=1.0, le=1e15)]
    sum_sigma: Sigma
    weight_sigma: Sigma
    group_sigma: Sigma


@dataclass(frozen=True, eq=False)
class PrototypeMessage:
    """What one silo sends: prototypes, and what they cost its users.

    Attributes
    ----------
    values, mask, weights
        Prototypes on the rating scale (k x items), which entries they have, and their noisy sizes.
    catalogue
        Digest of the public item list.
    scale
        Of the ratings; public.
    statement
        What was promised to the silo's users, and every release that was charged. It says that nothing is where the
        noise can be drawn again (tests) or there was none (references).
    notes
        What should be known about the run: whether it was degenerate.
    evidence
        Where unrated items count as the user's own level: what was released, from which the prototypes follow. It is
        sent in their place, and the server puts that of all silos together before anything is made of noise.
    """

    values: Floats
    mask: Bools
    weights: Floats
    catalogue: str
    scale: RatingScale
    statement: Statement
    notes: tuple[str, ...] = ()
    evidence: Evidence | None = None

    @classmethod
    def of_evidence(cls, evidence: Evidence, scale: RatingScale, **fields: Any) -> Self:
        """Prototypes as they follow from one silo's evidence alone: one for each group, or for all users."""
        low, high = scale.bounds
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        common = evidence.level + offsets([evidence])
        groups = differences([evidence], len(evidence.sizes)) if len(evidence.sizes) else np.zeros((1, 1))
        values = np.clip(middle + half * (common + groups), low, high)
        weights = evidence.sizes if len(evidence.sizes) else np.array([evidence.users])
        mask = np.ones(values.shape, dtype=np.bool_)
        return cls(values, mask, weights, scale=scale, evidence=evidence, **fields)

    def to_bytes(self) -> bytes:
        """The message as it travels; values as 32-bit floats, only those that are there."""
        fields: dict[str, Any] = {
            "kind": "prototypes",
            "prototypes": len(self.values),
            "n_items": self.values.shape[1],
            "catalogue": self.catalogue,
            "rating_range": self.scale.range,
            "statement": self.statement,
            "notes": self.notes,
        }
        if (found := self.evidence) is not None:
            fields |= {name: getattr(found, name) for name in _NUMBERS}
            arrays = (found.sums, found.weights, found.sizes, found.groups.ravel())
            return _framed(_EvidenceHeader(**fields), _floats(np.concatenate(arrays)))
        header = _Header(**fields)
        body = np.packbits(self.mask).tobytes()
        return _framed(header, body + _floats(self.weights) + _floats(self.values[self.mask]))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote; anything else is refused."""
        header, body = _unframed(data)
        k, m = header.prototypes, header.n_items
        if isinstance(header, _EvidenceHeader):
            return cls._with_evidence(header, body)
        bits = -(-k * m // 8)
        if k * m > _MOST_ENTRIES or len(body) < bits + 4 * k:
            raise ModelInvalid("the message of prototypes is cut off or too large")
        mask = np.unpackbits(np.frombuffer(body[:bits], np.uint8))[: k * m].astype(np.bool_).reshape(k, m)
        numbers = _numbers(body[bits:], k + int(mask.sum()))
        if (numbers < 0.0).any():
            raise ModelInvalid("the message holds numbers that are negative or not numbers")
        values = np.zeros((k, m))
        values[mask] = numbers[k:]
        return cls(
            values, mask, numbers[:k], header.catalogue, _scale(header), header.statement, header.notes
        )

    @classmethod
    def _with_evidence(cls, header: _EvidenceHeader, body: bytes) -> Self:
        groups, m = header.prototypes if header.prototypes > 1 else 0, header.n_items
        if groups * m > _MOST_ENTRIES:
            raise ModelInvalid("the message of prototypes is too large")
        numbers = _numbers(body, 2 * m + groups * (1 + m))
        if np.abs(numbers).max() > _LARGEST or (numbers[2 * m : 2 * m + groups] < 1.0).any():
            raise ModelInvalid("the message holds sums or sizes that no silo can have")
        scale = _scale(header)
        if not scale.explicit:
            raise ModelInvalid("the message holds deviations from a level, which clicks do not have")
        evidence = Evidence(
            sums=numbers[:m],
            weights=numbers[m : 2 * m],
            sizes=numbers[2 * m : 2 * m + groups],
            groups=numbers[2 * m + groups :].reshape(groups, m),
            **{name: getattr(header, name) for name in _NUMBERS},
        )
        return cls.of_evidence(
            evidence, scale, catalogue=header.catalogue, statement=header.statement, notes=header.notes
        )


def _scale(header: _Header) -> RatingScale:
    try:
        return RatingScale(header.rating_range)
    except SettingsInvalid as error:
        raise ModelInvalid(f"the message's rating range cannot be used: {error}") from None


def _framed(header: _Header, body: bytes) -> bytes:
    head = header.model_dump_json().encode()
    framed = (
        (_WITH_EVIDENCE if isinstance(header, _EvidenceHeader) else _MAGIC)
        + struct.pack("<I", len(head))
        + head
        + body
    )
    if len(head) > _MOST_HEADER or len(framed) > _MOST_BYTES:
        raise ModelInvalid("the message is too large; send fewer prototypes or items")
    return framed


def _unframed(data: bytes) -> tuple[_Header, bytes]:
    start = len(_MAGIC) + 4
    kinds: dict[bytes, type[_Header]] = {_MAGIC: _Header, _WITH_EVIDENCE: _EvidenceHeader}
    kind = kinds.get(data[: len(_MAGIC)])
    if len(data) > _MOST_BYTES or len(data) < start or kind is None:
        raise ModelInvalid("this is not a message of the prototypes protocol, or it is too large")
    (length,) = struct.unpack("<I", data[len(_MAGIC) : start])
    if length > _MOST_HEADER or len(data) < start + length:
        raise ModelInvalid("the message is cut off")
    try:
        header = kind.model_validate_json(data[start : start + length])
    except ValidationError as error:
        first: Any = error.errors()[0]
        raise ModelInvalid(f"the message's header is not valid ({first['loc']}: {first['msg']})") from None
    return header, data[start + length :]


def _floats(values: Floats) -> bytes:
    return values.astype("<f4").tobytes()


def _numbers(body: bytes, count: int) -> Floats:
    if len(body) != 4 * count:
        raise ModelInvalid("the message has more or fewer numbers than its header says")
    numbers = np.frombuffer(body, "<f4")
    if not np.isfinite(numbers).all():
        raise ModelInvalid("the message holds numbers that are negative or not numbers")
    return numbers.astype(np.float64)
