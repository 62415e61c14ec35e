"""The message of a silo: its prototypes (or the evidence that they follow from), and what they cost its users."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.catalogue import RatingScale
from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.methods.prototypes.public.evidence import Evidence, differences, offsets
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats

__all__ = ["PrototypeMessage"]

Bound = Annotated[float, Field(ge=0.0)]
Sigma = Annotated[float, Field(gt=1e-15, le=1e15)]

_MAGIC = b"discreet-prototypes-2\n"
# With evidence, from which the prototypes follow, in the place of the prototypes.
_WITH_EVIDENCE = b"discreet-prototypes-3\n"
_MOST_HEADER, _MOST_BYTES, _MOST_ENTRIES, _LARGEST = 1 << 20, 1 << 30, 1 << 28, 1e15
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
    """What one silo sends: prototypes on the rating scale (k x items) with their noisy sizes, and what they cost.

    The notes say whether the run was degenerate. With evidence, from which the prototypes follow, that is sent in their
    place, and the server puts that of all silos together before anything is made of noise.
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
            return _framed(_WITH_EVIDENCE, _EvidenceHeader(**fields), _floats(np.concatenate(arrays)))
        body = np.packbits(self.mask).tobytes() + _floats(self.weights) + _floats(self.values[self.mask])
        return _framed(_MAGIC, _Header(**fields), body)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote; anything else is refused."""
        header, body = _unframed(data)
        try:
            scale = RatingScale(header.rating_range)
        except SettingsInvalid as error:
            raise ModelInvalid(f"the message's rating range cannot be used: {error}") from None
        fields: dict[str, Any] = {
            "catalogue": header.catalogue,
            "statement": header.statement,
            "notes": header.notes,
        }
        k, m = header.prototypes, header.n_items
        if isinstance(header, _EvidenceHeader):
            return cls.of_evidence(_evidence(header, scale, body), scale, **fields)
        bits = -(-k * m // 8)
        if k * m > _MOST_ENTRIES or len(body) < bits + 4 * k:
            raise ModelInvalid("the message of prototypes is cut off or too large")
        mask = np.unpackbits(np.frombuffer(body[:bits], np.uint8))[: k * m].astype(np.bool_).reshape(k, m)
        numbers = _numbers(body[bits:], k + int(mask.sum()))
        if (numbers < 0.0).any():
            raise ModelInvalid("the message holds numbers that are negative or not numbers")
        values = np.zeros((k, m))
        values[mask] = numbers[k:]
        return cls(values, mask, numbers[:k], scale=scale, **fields)


def _evidence(header: _EvidenceHeader, scale: RatingScale, body: bytes) -> Evidence:
    groups, m = header.prototypes if header.prototypes > 1 else 0, header.n_items
    if groups * m > _MOST_ENTRIES:
        raise ModelInvalid("the message of prototypes is too large")
    numbers = _numbers(body, 2 * m + groups * (1 + m))
    sums, weights, sizes, rows = np.split(numbers, [m, 2 * m, 2 * m + groups])
    if np.abs(numbers).max() > _LARGEST or (sizes < 1.0).any():
        raise ModelInvalid("the message holds sums or sizes that no silo can have")
    if not scale.explicit:
        raise ModelInvalid("the message holds deviations from a level, which clicks do not have")
    fields: dict[str, Any] = {name: getattr(header, name) for name in _NUMBERS}
    arrays: dict[str, Any] = {
        "sums": sums,
        "weights": weights,
        "sizes": sizes,
        "groups": rows.reshape(groups, m),
    }
    return Evidence(**arrays, **fields)


def _framed(magic: bytes, header: _Header, body: bytes) -> bytes:
    head = header.model_dump_json().encode()
    framed = magic + struct.pack("<I", len(head)) + head + body
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
