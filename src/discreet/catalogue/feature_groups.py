"""Groups of columns of a feature matrix: how values of items become columns that are comparable in size.

Every row of a group has a squared length of about 1 (or is empty, where nothing is known), so that the variance of a
group's weights is the variance of items that the group explains.

What is learnt is the same to the last bit wherever it is learnt: sums are exact (``math.fsum``), quantiles are values
that occur, and everything else is an elementary operation on single numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from pydantic import ConfigDict
from scipy.sparse import csr_array

from discreet.types import Floats

__all__ = ["BinGroup", "Group", "ScaleGroup", "TokenGroup"]

Bags: TypeAlias = Sequence[Iterable[str]]

# Read back from a saved model, a group is held to exactly its fields.
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
_FEWEST_ITEMS = 2
_LARGEST_VOCABULARY = 50_000
_BINS = 10
_FARTHEST = 3.0
# A new item's embedding may be larger than all that were learnt from, but not beyond all bounds.
_FARTHEST_OUT = 10.0


@dataclass(frozen=True)
class TokenGroup:
    """One column for each token that some items share, and not all; a row's tokens share a squared length of 1."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    tokens: tuple[str, ...]
    form: Literal["tokens"] = "tokens"

    def __post_init__(self) -> None:
        _check_rising(self.tokens)

    @classmethod
    def learn(cls, name: str, bags: Bags, common: float = 1.0) -> Self | None:
        """The vocabulary of the items' tokens, without those of more than the share ``common`` of the items."""
        counts = Counter(token for bag in bags for token in set(bag))
        most = len(bags) - 1 if common >= 1.0 else max(_FEWEST_ITEMS, int(common * len(bags)))
        known = [(-count, token) for token, count in counts.items() if _FEWEST_ITEMS <= count <= most]
        tokens = sorted(token for _, token in sorted(known)[:_LARGEST_VOCABULARY])
        return cls(name, tuple(tokens)) if tokens else None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.tokens)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {token: place for place, token in enumerate(self.tokens)}

    def encode(self, bags: Bags) -> csr_array:
        """Rows of the items; tokens without a column do not count."""
        places = self._places
        rows = [sorted({places[token] for token in bag if token in places}) for bag in bags]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
        columns = np.fromiter((place for row in rows for place in row), np.int64, int(lengths.sum()))
        return _matrix(values, columns, lengths, self.width)


@dataclass(frozen=True)
class ScaleGroup:
    """Numbers, centred and divided by their spread: one column, or one for each dimension of an embedding.

    ``unit`` is the largest value, so that sums of squares stay finite. In units of it are ``mean`` and ``spread``, the
    root mean square length of centred rows. A single number lies no farther than 3 spreads from the mean.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    form: Literal["number", "dense"]
    unit: float
    mean: tuple[float, ...]
    spread: float

    def __post_init__(self) -> None:
        if not all(value > 0.0 for value in (self.unit, self.spread, len(self.mean))):
            raise ValueError("the scale of a group of features must be above 0")

    @classmethod
    def learn(cls, name: str, form: Literal["number", "dense"], rows: Floats) -> Self | None:
        """Mean and spread of the rows that are known (finite throughout)."""
        known = rows[np.isfinite(rows).all(axis=1)]
        unit = float(np.abs(known).max(initial=0.0))
        if unit == 0.0 or (known == known[0]).all():
            return None
        columns = [column / unit for column in known.T]
        mean = [_mean(column) for column in columns]
        squares = [_mean(np.square(column - middle)) for column, middle in zip(columns, mean, strict=True)]
        spread = math.sqrt(math.fsum(squares))
        return cls(name, form, unit, tuple(mean), spread) if spread > 0.0 else None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.mean)

    def encode(self, rows: Floats) -> csr_array:
        """Rows of the items; empty where something is not known."""
        known = np.isfinite(rows).all(axis=1)
        with np.errstate(over="ignore"):
            scaled = np.clip(rows[known] / self.unit, -_FARTHEST_OUT, _FARTHEST_OUT)
            standard = (scaled - np.array(self.mean)) / self.spread
        if self.form == "number":
            standard = np.clip(standard, -_FARTHEST, _FARTHEST)
        columns = np.tile(np.arange(self.width), int(known.sum()))
        return _matrix(standard.ravel(), columns, self.width * known.astype(np.int64), self.width)


@dataclass(frozen=True)
class BinGroup:
    """Ten soft bins of about equally many items: a value between two knots belongs to both, to the nearer one more."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    name: str
    knots: tuple[float, ...]
    form: Literal["bins"] = "bins"

    def __post_init__(self) -> None:
        _check_rising(self.knots, fewest=2)

    @classmethod
    def learn(cls, name: str, values: Floats) -> Self | None:
        """Quantiles of the values that are known (not NaN)."""
        known = np.sort(values[np.isfinite(values)])
        places = [round(share * (len(known) - 1) / (_BINS - 1)) for share in range(_BINS)]
        knots = sorted({float(known[place]) + 0.0 for place in places}) if len(known) else []
        return cls(name, tuple(knots)) if len(knots) > 1 else None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.knots)

    def encode(self, values: Floats) -> csr_array:
        """Rows of the items; empty where the value is not known."""
        known, knots = np.isfinite(values), np.array(self.knots)
        clipped = np.clip(values[known], knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, clipped, side="right") - 1, 0, self.width - 2)
        with np.errstate(over="ignore"):  # where a difference would overflow, take it of halves
            unit = np.where(np.isfinite(np.diff(knots)), 1.0, 0.5)[left]
        low, high = knots[left] * unit, knots[left + 1] * unit
        share = (clipped * unit - low) / (high - low)
        weights = np.column_stack([1.0 - share, share])
        weights /= np.sqrt(np.square(weights[:, 0]) + np.square(weights[:, 1]))[:, np.newaxis]
        columns = np.column_stack([left, left + 1])
        return _matrix(weights.ravel(), columns.ravel(), 2 * known.astype(np.int64), self.width)


Group: TypeAlias = TokenGroup | ScaleGroup | BinGroup


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)


def _matrix(values: Floats, columns: Any, lengths: Any, width: int) -> csr_array:
    """Compressed rows of these lengths."""
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((values, columns, pointers), shape=(len(lengths), width))


def _check_rising(values: Sequence[str] | Sequence[float], fewest: int = 1) -> None:
    if len(values) < fewest or not all(one < other for one, other in pairwise(values)):  # type: ignore[operator]
        raise ValueError("the columns of a group of features must be there, each once and in order")
