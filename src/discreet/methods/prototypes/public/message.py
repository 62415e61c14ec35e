"""The message of a silo: its prototypes, and what they cost its users."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.catalogue import RatingScale
from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats

__all__ = ["PrototypeMessage"]

Bound = Annotated[float, Field(ge=0.0)]

_MAGIC = b"discreet-prototypes-2\n"
_MOST_HEADER = 1 << 20
_MOST_BYTES = 1 << 30
_MOST_ENTRIES = 1 << 28


class _Header(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    kind: Literal["prototypes"]
    prototypes: int = Field(ge=1, le=10_000)
    n_items: int = Field(ge=1, le=10_000_000)
    catalogue: str = Field(pattern="^[0-9a-f]{64}$")
    rating_range: tuple[Bound, Bound] | None
    statement: Statement
    notes: tuple[str, ...] = Field(max_length=100)


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
    """

    values: Floats
    mask: Bools
    weights: Floats
    catalogue: str
    scale: RatingScale
    statement: Statement
    notes: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The message as it travels; values as 32-bit floats, only those that are there."""
        header = _Header(
            kind="prototypes",
            prototypes=len(self.values),
            n_items=self.values.shape[1],
            catalogue=self.catalogue,
            rating_range=self.scale.range,
            statement=self.statement,
            notes=self.notes,
        )
        body = np.packbits(self.mask).tobytes()
        return _framed(header, body + _floats(self.weights) + _floats(self.values[self.mask]))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote; anything else is refused."""
        header, body = _unframed(data)
        k, m = header.prototypes, header.n_items
        bits = -(-k * m // 8)
        if k * m > _MOST_ENTRIES or len(body) < bits + 4 * k:
            raise ModelInvalid("the message of prototypes is cut off or too large")
        mask = np.unpackbits(np.frombuffer(body[:bits], np.uint8))[: k * m].astype(np.bool_).reshape(k, m)
        numbers = _numbers(body[bits:], k + int(mask.sum()))
        values = np.zeros((k, m))
        values[mask] = numbers[k:]
        try:
            scale = RatingScale(header.rating_range)
        except SettingsInvalid as error:
            raise ModelInvalid(f"the message's rating range cannot be used: {error}") from None
        return cls(values, mask, numbers[:k], header.catalogue, scale, header.statement, header.notes)


def _framed(header: _Header, body: bytes) -> bytes:
    head = header.model_dump_json().encode()
    framed = _MAGIC + struct.pack("<I", len(head)) + head + body
    if len(head) > _MOST_HEADER or len(framed) > _MOST_BYTES:
        raise ModelInvalid("the message is too large; send fewer prototypes or items")
    return framed


def _unframed(data: bytes) -> tuple[_Header, bytes]:
    start = len(_MAGIC) + 4
    if len(data) > _MOST_BYTES or len(data) < start or data[: len(_MAGIC)] != _MAGIC:
        raise ModelInvalid("this is not a message of the prototypes protocol, or it is too large")
    (length,) = struct.unpack("<I", data[len(_MAGIC) : start])
    if length > _MOST_HEADER or len(data) < start + length:
        raise ModelInvalid("the message is cut off")
    try:
        header = _Header.model_validate_json(data[start : start + length])
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
    if not (np.isfinite(numbers).all() and (numbers >= 0.0).all()):
        raise ModelInvalid("the message holds numbers that are negative or not numbers")
    return numbers.astype(np.float64)
