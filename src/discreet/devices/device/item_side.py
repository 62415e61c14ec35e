"""The released item side as a device reads it: the one file format of the package, in the standard library alone.

It is a safetensors file (``discreet/model/wire.py`` writes it): eight bytes with the length of a header, the header as
JSON, then the arrays. Every number in the header is checked, every size is bounded before it is used, and a file is
read whole or not at all.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from dataclasses import dataclass, field
from typing import Any

from .question import MAX_COORDINATES, MAX_ITEMS, QuestionInvalid
from .strict_json import is_number, read_object

__all__ = ["DeviceItemSide", "ItemSideInvalid", "largest_file"]

_FORMAT = "discreet item side 2"
_ARRAYS = ("popularity", "offsets", "factors")
_MAX_HEADER = 4096
_MAX_RANK = 64
_LARGEST = 1e100  # as discreet/model/wire.py has it
_ROUND = re.compile(r"0|[1-9][0-9]{0,9}")


class ItemSideInvalid(QuestionInvalid):
    """What came as a released item side is damaged, too large or not of the agreed form."""


def largest_file(items: int) -> int:
    """Most bytes that the item side of a catalogue of this size can have."""
    return 8 + _MAX_HEADER + 4 * (2 * items + min(_MAX_RANK * items, MAX_COORDINATES))


def _empty() -> array[float]:
    return array("f")


@dataclass(frozen=True)
class DeviceItemSide:
    """What devices are told after a round. All of it is public; numbers are single precision.

    Parameters
    ----------
    round
        The last round whose answers are in it; 0 before the first.
    items, rank
        Size of the catalogue; number of factors so far.
    popularity, offsets, factors
        How often items are rated (relative); item offsets; factors, item after item. No popularity: nothing is known
        about it. No offsets: all are zero.
    centre, offset_penalty, factor_penalty
        The rule by which a device's own offset and vector follow: see :mod:`.fold_in`.
    range
        Lowest and highest rating, where it was said.
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
        whole = all(type(value) is int for value in (self.round, self.items, self.rank))
        if not whole or self.round < 0 or not 1 <= self.items <= MAX_ITEMS or not 0 <= self.rank <= _MAX_RANK:
            raise ItemSideInvalid("round, items or rank of a released item side is out of range")
        if self.items * max(self.rank, 1) > MAX_COORDINATES:
            raise ItemSideInvalid(f"a released item side has at most {MAX_COORDINATES} numbers in one array")
        for name in _ARRAYS:
            _check_array(name, getattr(self, name), self.items * (self.rank if name == "factors" else 1))
        numbers = (self.centre, self.offset_penalty, self.factor_penalty, *(self.range or ()))
        if not all(type(value) is float and math.isfinite(value) for value in numbers):
            raise ItemSideInvalid("centre, penalties and range must be finite numbers")
        if self.offset_penalty < 0.0 or self.factor_penalty <= 0.0:
            raise ItemSideInvalid(
                "the offset penalty must not be negative, the factor penalty must be above zero"
            )
        if self.rank and not self.factors:
            raise ItemSideInvalid("a released item side of rank 1 or more has factors")

    @classmethod
    def from_bytes(cls, data: bytes) -> DeviceItemSide:
        """Read a released item side; anything else is refused, whole or not at all."""
        length = int.from_bytes(data[:8], "little")
        if len(data) < 8 or not 2 <= length <= min(_MAX_HEADER, len(data) - 8):
            raise ItemSideInvalid("this is not a released item side")
        header = _object(data[8 : 8 + length], "header")
        number, content = _metadata(header.pop("__metadata__", None))
        arrays, shapes = _arrays(header, memoryview(data)[8 + length :])
        if len(shapes["offsets"]) != 1 or len(shapes["factors"]) != 2:
            raise ItemSideInvalid("offsets must be a list and factors a table")
        items, rank = shapes["factors"]
        if shapes["offsets"] != [items] or shapes.get("popularity", [items]) != [items]:
            raise ItemSideInvalid("the arrays of the released item side do not fit each other")
        popularity = arrays.get("popularity", _empty())
        rule = _rule(content, "popularity" in arrays)
        return cls(number, items, rank, popularity, arrays["offsets"], arrays["factors"], **rule)


def _object(text: bytes | str, what: str) -> dict[str, Any]:
    try:
        return read_object(text)
    except ValueError as error:
        raise ItemSideInvalid(f"the {what} of the released item side cannot be read: {error}") from error


def _metadata(metadata: Any) -> tuple[int, dict[str, Any]]:
    """Number of the round, and the description of the item side."""
    texts = isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    if not texts or set(metadata) != {"format", "content", "round"}:
        raise ItemSideInvalid("the metadata of a released item side are format, content and round")
    if metadata["format"] != _FORMAT:
        raise ItemSideInvalid(f"this is not an item side in the format {_FORMAT!r}")
    if not _ROUND.fullmatch(metadata["round"]):
        raise ItemSideInvalid("the round must be a whole number")
    return int(metadata["round"]), _object(metadata["content"], "content")


def _arrays(header: dict[str, Any], data: memoryview) -> tuple[dict[str, array[float]], dict[str, list[int]]]:
    """The arrays by name and their shapes; together they fill the file, without gaps and overlaps."""
    if not {"offsets", "factors"} <= set(header) <= set(_ARRAYS):
        raise ItemSideInvalid(f"the arrays of a released item side are {', '.join(_ARRAYS)}")
    arrays, shapes, places = {}, {}, []
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ItemSideInvalid(f"{name} has a dtype, a shape and data_offsets")
        shape, place = entry["shape"], entry["data_offsets"]
        if entry["dtype"] != "F32" or not _whole_numbers(shape) or not _whole_numbers(place):
            raise ItemSideInvalid(f"{name} must be numbers of single precision")
        if len(place) != 2 or place[1] - place[0] != 4 * math.prod(shape) or place[1] > len(data):
            raise ItemSideInvalid(f"{name} does not have the size it says")
        part = array("f")
        part.frombytes(data[place[0] : place[1]])
        if sys.byteorder == "big":
            part.byteswap()
        arrays[name], shapes[name] = part, shape
        places.append(tuple(place))
    ends = [0]
    for start, end in sorted(places):
        if start != ends[-1]:
            raise ItemSideInvalid("the arrays of the released item side overlap or leave gaps")
        ends.append(end)
    if ends[-1] != len(data):
        raise ItemSideInvalid("the released item side goes on after its end")
    return arrays, shapes


def _rule(content: dict[str, Any], has_popularity: bool) -> dict[str, Any]:
    """Centre, penalties and range from the description of the item side."""
    absent = {"noise_ratio", "guessed", "feature_map"} | (set() if has_popularity else {"popularity"})
    fits = set(content) == {"class", "scale", "centre", "rule"} | absent and content["class"] == "ItemSide"
    if not fits or any(content[name] is not None for name in absent):
        raise ItemSideInvalid("the content of a released item side is scale, centre and rule")
    scale, rule = content["scale"], content["rule"]
    if not isinstance(scale, dict) or set(scale) != {"class", "range"} or scale["class"] != "RatingScale":
        raise ItemSideInvalid("the scale of a released item side must be a range of ratings")
    span = scale["range"]
    if not isinstance(span, list) or len(span) != 2:
        raise ItemSideInvalid("the range of a released item side must be two numbers")
    penalties = ("offset_penalty", "factor_penalty", "count_exponent")
    if not isinstance(rule, dict) or set(rule) != {"class", *penalties} or rule["class"] != "Ridge":
        raise ItemSideInvalid("a device folds its ratings in by the rule Ridge, and no other")
    if _number(rule["count_exponent"]) != 0.0:
        raise ItemSideInvalid("a device's penalties do not grow with the number of its ratings")
    low, high = map(_number, span)
    if not low < high:
        raise ItemSideInvalid("the range of a released item side must rise")
    return {
        "centre": _number(content["centre"]),
        "offset_penalty": _number(rule["offset_penalty"]),
        "factor_penalty": _number(rule["factor_penalty"]),
        "range": (low, high),
    }


def _number(value: Any) -> float:
    if not is_number(value) or not abs(value) <= _LARGEST:
        raise ItemSideInvalid("centre, penalties and range must be finite numbers of a usable size")
    return float(value)


def _whole_numbers(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 40 for value in values)


def _check_array(name: str, part: array[float], length: int) -> None:
    if not isinstance(part, array) or part.typecode != "f" or len(part) not in (0, length):
        raise ItemSideInvalid(f"{name} must be {length} numbers of single precision, or none")
    if not all(map(math.isfinite, part)):
        raise ItemSideInvalid(f"{name} has entries that are not finite")
