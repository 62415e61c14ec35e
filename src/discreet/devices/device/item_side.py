"""What devices are told after a round, the one form in which they download it, and what follows for a person.

Four bytes with the length of a header, the header as JSON, then the arrays in single precision. Every number in the
header is checked, every size is bounded before it is used, and a file is read whole or not at all. A device folds its
own ratings in (offset and vector by ridge regression), and lists follow.
"""

from __future__ import annotations

import heapq
import json
import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .question import MAX_COORDINATES, MAX_ITEMS, QuestionInvalid, is_range, is_whole, read_fields

__all__ = ["DeviceItemSide", "fold_in", "largest_file", "recommend", "residuals"]

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
    after item. ``centre`` and penalties: the rule by which a device's own offset and vector follow (:func:`fold_in`).
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


def fold_in(items: Sequence[int], values: Sequence[float], side: DeviceItemSide) -> list[float]:
    """Offset ``a`` and vector ``u`` that minimise the squared residuals plus the two penalties.

    A rating is modelled as ``centre + a + b_j + u . v_j``. Sums run in the order of the items, one term after the
    other, so that any implementation that does the same agrees to the last bit.
    """
    rank = side.rank
    size = rank + 1
    coefficients = [0.0] * size
    if not items:
        return coefficients
    matrix = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    row = [1.0] * size
    for item, value in zip(items, values, strict=True):
        target = value - side.centre - (side.offsets[item] if side.offsets else 0.0)
        row[1:] = side.factors[item * rank : item * rank + rank]
        for i in range(size):
            right[i] += row[i] * target
            for j in range(i + 1):
                matrix[i][j] += row[i] * row[j]
    matrix[0][0] += side.offset_penalty
    for i in range(1, size):
        matrix[i][i] += side.factor_penalty
    _solve(matrix, right)
    return right


def residuals(
    items: Sequence[int], values: Sequence[float], side: DeviceItemSide, coefficients: Sequence[float]
) -> list[float]:
    """What of each rating the model does not explain."""
    rank = side.rank
    left = []
    for item, value in zip(items, values, strict=True):
        rest = value - side.centre - (side.offsets[item] if side.offsets else 0.0) - coefficients[0]
        for d in range(rank):
            rest -= coefficients[d + 1] * side.factors[item * rank + d]
        left.append(rest)
    return left


def recommend(
    ratings: Mapping[int, float],
    side: DeviceItemSide,
    rating_range: tuple[float, float],
    n: int = 10,
) -> list[tuple[int, float]]:
    """The ``n`` best items, best first, and their predictions.

    Best is what a recommendation can be expected to bring: the item's popularity, which says how likely anybody takes
    it, times its predicted rating above the lowest one, for a person whose usual rating is the middle of the range.
    Items of which offsets and factors say nothing come in the order of their popularity. The person's own offset is
    not in it: it is the same for all items, and with it everything would be worth nothing to somebody who has given
    the lowest rating so far. Where no popularity was released, the order is that of the predictions; where the same was
    released for all items, noise drowned it, and there is no list. Ties go to the more popular item, then to the lower
    index.

    Notes
    -----
    **Privacy**. Nothing leaves the device: this costs no budget.
    """
    if len(side.popularity) > 1 and min(side.popularity) == max(side.popularity):
        return []
    low, high = rating_range
    rated = sorted(ratings)
    if any(not 0 <= item < side.items for item in rated):
        raise QuestionInvalid(f"an item is outside of the catalogue of {side.items}")
    own, *vector = fold_in(rated, [float(ratings[item]) for item in rated], side)
    items = [item for item in range(side.items) if item not in ratings]
    scores, worth = {}, {}
    for item in items:
        score = side.centre + own + (side.offsets[item] if side.offsets else 0.0)
        for d, one in enumerate(vector):
            score += one * side.factors[item * side.rank + d]
        often = side.popularity[item] if side.popularity else 0.0
        value = often * (score - (low + own)) if side.popularity else score
        scores[item] = min(max(score, low), high)
        worth[item] = (
            math.inf if math.isnan(value) else -value,
            -often,
            item,
        )  # a hostile item side may overflow
    return [(item, scores[item]) for item in heapq.nsmallest(n, items, key=worth.__getitem__)]


def _solve(matrix: list[list[float]], right: list[float]) -> None:
    """Solve a positive definite system in place by Cholesky without square roots; only the lower triangle is read.

    Without roots, a device whose ratings are all the same has residuals of exactly zero.
    """
    size = len(right)
    for i in range(size):
        for j in range(i):
            for k in range(j):
                matrix[i][j] -= matrix[i][k] * matrix[j][k] * matrix[k][k]
            matrix[i][j] /= matrix[j][j]
        for k in range(i):
            matrix[i][i] -= matrix[i][k] * matrix[i][k] * matrix[k][k]
    for i in range(size):
        for k in range(i):
            right[i] -= matrix[i][k] * right[k]
    for i in range(size - 1, -1, -1):
        right[i] /= matrix[i][i]
        for k in range(i + 1, size):
            right[i] -= matrix[k][i] * right[k]
