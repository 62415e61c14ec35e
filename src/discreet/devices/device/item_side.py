"""What devices are told after a round, and the one form in which they download it.

Four bytes with the length of a header, the header as JSON, then the arrays in single precision. Every number in the
header is checked, every size is bounded before it is used, and a file is read whole or not at all.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from dataclasses import dataclass, field

from .question import MAX_COORDINATES, MAX_ITEMS, QuestionInvalid, is_range, is_whole, read_fields

__all__ = ["DeviceItemSide", "largest_file"]

_ARRAYS = ("popularity", "offsets", "factors")
_NUMBERS = ("centre", "offset_penalty", "factor_penalty")
_FIELDS = ("round", "items", "rank", "range", "sizes", *_NUMBERS)
_MAX_HEADER = 4096
_MAX_RANK = 64


def largest_file(items: int) -> int:
    """Most bytes that the item side of a catalogue of this size can have."""
    return 4 + _MAX_HEADER + 4 * (2 * items + min(_MAX_RANK * items, MAX_COORDINATES))


def _empty() -> array[float]:
    return array("f")


@dataclass(frozen=True)
class DeviceItemSide:
    """What devices are told after a round. All of it is public; numbers are single precision.

    Popularity is relative; without any nothing is known about it, and without offsets all are zero. Factors are item
    after item. ``centre`` and penalties: the rule by which a device's own offset and vector follow (:mod:`.fold_in`).
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
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        whole = is_whole(self.round, 0, 1 << 32) and is_whole(self.items, 1, MAX_ITEMS)
        if not (whole and is_whole(self.rank, 0, _MAX_RANK)) or self.items * self.rank > MAX_COORDINATES:
            raise QuestionInvalid("round, items or rank of a released item side is out of range")
        for name in _ARRAYS:
            part, length = getattr(self, name), self.items * (self.rank if name == "factors" else 1)
            if len(part) not in (0, length) or not all(map(math.isfinite, part)):
                raise QuestionInvalid(
                    f"{name} of a released item side must be {length} finite numbers, or none"
                )
        if self.rank and not self.factors:
            raise QuestionInvalid("a released item side of rank 1 or more has factors")
        numbers = (self.centre, self.offset_penalty, self.factor_penalty)
        if not all(map(math.isfinite, numbers)) or self.offset_penalty < 0.0 or self.factor_penalty <= 0.0:
            raise QuestionInvalid("centre and penalties must be finite, and penalties not below zero")
        if self.range is not None and not is_range(self.range):
            raise QuestionInvalid("range of a released item side must be two finite numbers, the lower first")

    def to_bytes(self) -> bytes:
        """The item side in its one form."""
        parts = [getattr(self, name) for name in _ARRAYS]
        header = {name: getattr(self, name) for name in _FIELDS if name != "sizes"}
        text = json.dumps({**header, "sizes": [len(part) for part in parts]}, separators=(",", ":")).encode()
        return len(text).to_bytes(4, "little") + text + b"".join(_swapped(part).tobytes() for part in parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> DeviceItemSide:
        """Read what :meth:`to_bytes` wrote; anything else is refused, whole or not at all."""
        start = 4 + int.from_bytes(data[:4], "little")
        if not 4 <= start <= min(4 + _MAX_HEADER, len(data)):
            raise QuestionInvalid("this is not a released item side")
        try:
            fields = read_fields(data[4:start], _FIELDS, _NUMBERS)
        except ValueError as error:
            raise QuestionInvalid(f"this is not a released item side: {error}") from error
        sizes = fields.pop("sizes")
        if not isinstance(sizes, list) or len(sizes) != len(_ARRAYS):
            raise QuestionInvalid("a released item side has three sizes")
        if not all(is_whole(size, 0, MAX_COORDINATES) for size in sizes) or start + 4 * sum(sizes) != len(
            data
        ):
            raise QuestionInvalid("a released item side does not have the size it says")
        for name, size in zip(_ARRAYS, sizes, strict=True):
            fields[name] = _swapped(array("f", data[start : start + 4 * size]))
            start += 4 * size
        return cls(**fields)


def _swapped(part: array[float]) -> array[float]:
    """From this machine's order of bytes to the little-endian one, and back."""
    part = part[:]
    if sys.byteorder == "big":
        part.byteswap()
    return part
