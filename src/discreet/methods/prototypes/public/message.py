"""The two messages: a silo's prototypes to the server, and the server's item factors to all silos."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import ModelInvalid
from discreet.privacy.statement import Statement
from discreet.silos.shared.base_agreement import catalogue_digest
from discreet.types import Bools, Floats

__all__ = ["GlobalFactors", "PrototypeMessage", "catalogue_digest"]

Scale = Annotated[float, Field(ge=0.0)]

_MAGIC = b"discreet-prototypes-1\n"
_MOST_HEADER = 1 << 20
_MOST_BYTES = 1 << 30
_MOST_ENTRIES = 1 << 28


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class _PrototypeHeader(_Strict):
    kind: Literal["prototypes"]
    prototypes: int = Field(ge=1, le=10_000)
    n_items: int = Field(ge=1, le=10_000_000)
    catalogue: str = Field(pattern="^[0-9a-f]{64}$")
    low: Scale
    high: Scale
    statement: Statement
    notes: tuple[str, ...] = Field(max_length=100)


class _FactorHeader(_Strict):
    kind: Literal["factors"]
    n_items: int = Field(ge=1, le=10_000_000)
    rank: int = Field(ge=1, le=512)
    catalogue: str = Field(pattern="^[0-9a-f]{64}$")
    low: Scale
    high: Scale
    private: bool
    epsilon: Scale
    epsilon_in_two: Scale
    delta: Scale
    run: str = Field(max_length=64)


@dataclass(frozen=True, eq=False)
class PrototypeMessage:
    """What one silo sends: prototypes, and what they cost its users.

    Attributes
    ----------
    values, mask, weights
        Prototypes on the rating scale (k x items), which entries they have, and their noisy sizes.
    catalogue
        Digest of the public item list.
    rating_range
        Public.
    statement
        What was promised to the silo's users, and every release that was charged. It says that nothing is where the
        noise can be drawn again (tests) or there was none (references).
    notes
        What should be known about the run: whether it was degenerate.
    """

    values: Floats
    mask: Bools
    weights: Floats
    catalogue: str
    rating_range: tuple[float, float]
    statement: Statement
    notes: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The message as it travels; values as 32-bit floats, only those that are there."""
        header = _PrototypeHeader(
            kind="prototypes",
            prototypes=len(self.values),
            n_items=self.values.shape[1],
            catalogue=self.catalogue,
            low=self.rating_range[0],
            high=self.rating_range[1],
            statement=self.statement,
            notes=self.notes,
        )
        body = np.packbits(self.mask).tobytes()
        return _framed(header, body + _floats(self.weights) + _floats(self.values[self.mask]))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote; anything else is refused."""
        header, body = _unframed(data, _PrototypeHeader)
        k, m = header.prototypes, header.n_items
        bits = -(-k * m // 8)
        if k * m > _MOST_ENTRIES or len(body) < bits + 4 * k:
            raise ModelInvalid("the message of prototypes is cut off or too large")
        mask = np.unpackbits(np.frombuffer(body[:bits], np.uint8))[: k * m].astype(np.bool_).reshape(k, m)
        numbers = _numbers(body[bits:], k + int(mask.sum()))
        values = np.zeros((k, m))
        values[mask] = numbers[k:]
        scale = (header.low, header.high)
        return cls(values, mask, numbers[:k], header.catalogue, scale, header.statement, header.notes)


@dataclass(frozen=True, eq=False)
class GlobalFactors:
    """What the server sends back.

    Attributes
    ----------
    factors
        One non-negative vector for each item (items x rank).
    catalogue, rating_range
        Digest of the item list, and the scale; public.
    private, epsilon, delta
        Whether every silo's message was private, and the most that a user of any one silo paid (0 where it was not).
    epsilon_in_two
        The most that a user of two silos paid.
    run
        Which run they came of, where there was an agreement.
    """

    factors: Floats
    catalogue: str
    rating_range: tuple[float, float]
    private: bool
    epsilon: float
    epsilon_in_two: float
    delta: float
    run: str = ""

    def to_bytes(self) -> bytes:
        """The message as it travels."""
        header = _FactorHeader(
            kind="factors",
            n_items=self.factors.shape[0],
            rank=self.factors.shape[1],
            catalogue=self.catalogue,
            low=self.rating_range[0],
            high=self.rating_range[1],
            private=self.private,
            epsilon=self.epsilon,
            epsilon_in_two=self.epsilon_in_two,
            delta=self.delta,
            run=self.run,
        )
        return _framed(header, _floats(self.factors))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote; anything else is refused."""
        header, body = _unframed(data, _FactorHeader)
        if header.n_items * header.rank > _MOST_ENTRIES:
            raise ModelInvalid("the message of factors is too large")
        factors = _numbers(body, header.n_items * header.rank).reshape(header.n_items, header.rank)
        scale = (header.low, header.high)
        return cls(
            factors,
            header.catalogue,
            scale,
            header.private,
            header.epsilon,
            header.epsilon_in_two,
            header.delta,
            header.run,
        )


_Header = TypeVar("_Header", _PrototypeHeader, _FactorHeader)


def _framed(header: BaseModel, body: bytes) -> bytes:
    head = header.model_dump_json().encode()
    framed = _MAGIC + struct.pack("<I", len(head)) + head + body
    if len(head) > _MOST_HEADER or len(framed) > _MOST_BYTES:
        raise ModelInvalid("the message is too large; send fewer prototypes or items")
    return framed


def _unframed(data: bytes, kind: type[_Header]) -> tuple[_Header, bytes]:
    start = len(_MAGIC) + 4
    if len(data) > _MOST_BYTES or len(data) < start or data[: len(_MAGIC)] != _MAGIC:
        raise ModelInvalid("this is not a message of the prototypes protocol, or it is too large")
    (length,) = struct.unpack("<I", data[len(_MAGIC) : start])
    if length > _MOST_HEADER or len(data) < start + length:
        raise ModelInvalid("the message is cut off")
    try:
        header = kind.model_validate_json(data[start : start + length])
    except ValidationError as error:
        first: Any = error.errors()[0]
        raise ModelInvalid(f"the message's header is not valid ({first['loc']}: {first['msg']})") from None
    if not header.low < header.high:
        raise ModelInvalid("the message's rating range is empty")
    return header, data[start + length :]


def _floats(values: Floats) -> bytes:
    return values.astype("<f4").tobytes()


def _numbers(body: bytes, count: int) -> Floats:
    if len(body) != 4 * count:
        raise ModelInvalid("the message has more or fewer numbers than its header says")
    numbers = np.frombuffer(body, "<f4")
    if not (np.isfinite(numbers).all() and (numbers >= 0.0).all()):
        raise ModelInvalid("the message holds numbers that are negative or not numbers")
    return numbers.astype(np.float64)
