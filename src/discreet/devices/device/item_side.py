"""The item side as far as it was released: public arrays a device downloads, in one compact and checked form."""

from __future__ import annotations

import json
import math
import struct
import sys
from array import array
from dataclasses import dataclass, field
from typing import Any

from .question import MAX_COORDINATES, MAX_ITEMS, QuestionInvalid

__all__ = ["Released", "ReleasedInvalid"]

_MAGIC = b"discreet/released/1\n"
_HEADER = ("round", "items", "rank", "parts", "centre", "offset_penalty", "factor_penalty")
_PARTS = ("popularity", "offsets", "factors")
_MAX_HEADER = 1024


class ReleasedInvalid(QuestionInvalid):
    """What came as a released item side is damaged, too large or not of the agreed form."""


def _empty() -> array[float]:
    return array("f")


@dataclass(frozen=True)
class Released:
    """What devices are told after a round. All of it is public; numbers are single precision.

    Parameters
    ----------
    round
        The last round whose answers are in it; 0 before the first.
    items, rank
        Size of the catalogue; number of factors so far.
    popularity, offsets, factors
        How often items are rated (relative); item offsets; factors, item after item. Each is empty until there is
        something to say.
    centre, offset_penalty, factor_penalty
        The rule by which a device's own offset and vector follow: see :mod:`.recommend`.
    """

    round: int
    items: int
    rank: int = 0
    popularity: array[float] = field(default_factory=_empty)
    offsets: array[float] = field(default_factory=_empty)
    factors: array[float] = field(default_factory=_empty)
    centre: float = 0.0
    offset_penalty: float = 0.0
    factor_penalty: float = 1.0

    def __post_init__(self) -> None:
        whole = all(type(value) is int for value in (self.round, self.items, self.rank))
        if not whole or self.round < 0 or not 1 <= self.items <= MAX_ITEMS or not 0 <= self.rank <= 64:
            raise ReleasedInvalid("round, items or rank of a released item side is out of range")
        if self.items * max(self.rank, 1) > MAX_COORDINATES:
            raise ReleasedInvalid(f"a released item side has at most {MAX_COORDINATES} numbers in one part")
        for name in _PARTS:
            _check_part(name, getattr(self, name), self.items * (self.rank if name == "factors" else 1))
        numbers = (self.centre, self.offset_penalty, self.factor_penalty)
        if not all(type(value) is float and math.isfinite(value) for value in numbers):
            raise ReleasedInvalid("centre and penalties must be finite numbers")
        if self.offset_penalty < 0.0 or self.factor_penalty <= 0.0:
            raise ReleasedInvalid(
                "the offset penalty must not be negative, the factor penalty must be above zero"
            )
        if self.rank and not self.factors:
            raise ReleasedInvalid("a released item side of rank 1 or more has factors")

    def to_bytes(self) -> bytes:
        """A short header and the arrays, single precision, lowest byte first."""
        header = {name: getattr(self, name) for name in _HEADER if name != "parts"}
        header["parts"] = [name for name in _PARTS if getattr(self, name)]
        text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
        arrays = b"".join(_swapped(getattr(self, name)).tobytes() for name in header["parts"])
        return _MAGIC + struct.pack("<I", len(text)) + text + arrays

    @classmethod
    def from_bytes(cls, data: bytes) -> Released:
        """Read what :meth:`to_bytes` wrote; anything else is refused, whole or not at all."""
        start = len(_MAGIC) + 4
        if data[: len(_MAGIC)] != _MAGIC or len(data) < start:
            raise ReleasedInvalid("this is not a released item side")
        (length,) = struct.unpack("<I", data[len(_MAGIC) : start])
        header = _read_header(data[start : start + length] if length <= _MAX_HEADER else b"")
        position = start + length
        parts: dict[str, Any] = {}
        for name in header.pop("parts"):
            size = 4 * header["items"] * (header["rank"] if name == "factors" else 1)
            if len(data) < position + size:
                raise ReleasedInvalid("the released item side ends too early")
            part = array("f")
            part.frombytes(data[position : position + size])
            parts[name] = _swapped(part)
            position += size
        if position != len(data):
            raise ReleasedInvalid("the released item side goes on after its end")
        return cls(**header, **parts)


def _read_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReleasedInvalid("the header of the released item side cannot be read") from error
    if not isinstance(header, dict) or set(header) != set(_HEADER):
        raise ReleasedInvalid(f"the header of a released item side has the fields {', '.join(_HEADER)}")
    sizes = (header["items"], header["rank"])
    if not all(type(size) is int and 0 <= size <= MAX_ITEMS for size in sizes):
        raise ReleasedInvalid("items and rank must be whole numbers")
    parts = header["parts"]
    if not isinstance(parts, list) or parts != [name for name in _PARTS if name in parts]:
        raise ReleasedInvalid(f"the parts of a released item side are {', '.join(_PARTS)}, in this order")
    return header


def _check_part(name: str, part: array[float], length: int) -> None:
    if not isinstance(part, array) or part.typecode != "f" or len(part) not in (0, length):
        raise ReleasedInvalid(f"{name} must be {length} numbers of single precision, or none")
    if not all(map(math.isfinite, part)):
        raise ReleasedInvalid(f"{name} has entries that are not finite")


def _swapped(part: array[float]) -> array[float]:
    if sys.byteorder == "big":
        part = part[:]
        part.byteswap()
    return part
