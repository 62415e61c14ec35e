"""Groups of columns of a feature matrix: how values of items become columns that are comparable in size.

Every row of a group has a squared length of about 1 (or is empty, where nothing is known), so that the variance of a
group's weights is the variance of items that the group explains. What is learnt is the same to the last bit wherever it
is learnt: sums are exact (``math.fsum``), quantiles are values that occur, all else is elementary on single numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import ConfigDict
from scipy.sparse import csr_array

from discreet.types import Floats

__all__ = ["Form", "Group", "learn_group"]

Form: TypeAlias = Literal["tokens", "number", "dense", "bins"]
Bags: TypeAlias = Sequence[Iterable[str]]

_FEWEST_ITEMS = 2
_LARGEST_VOCABULARY = 50_000
_BINS = 10
_FARTHEST = 3.0
# A new item's embedding may be larger than all that were learnt from, but not beyond all bounds.
_FARTHEST_OUT = 10.0


@dataclass(frozen=True)
class Group:
    """What was learnt of a group; each form has its own fields.

    Parameters
    ----------
    tokens
        Form ``tokens``, a column each: those that at least two items share, and not all; sorted.
    knots
        Form ``bins``, ten soft bins of about equally many items: a value between two knots belongs to both.
    unit, mean, spread
        Forms ``number`` (one column, no farther than 3 from the mean) and ``dense`` (one for each dimension of an
        embedding): the largest value, so that sums of squares stay finite; in units of it the mean of each dimension,
        and the root mean square length of centred rows.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: str
    form: Form
    tokens: tuple[str, ...] = ()
    knots: tuple[float, ...] = ()
    unit: float = 1.0
    mean: tuple[float, ...] = ()
    spread: float = 1.0

    def __post_init__(self) -> None:
        own = {"tokens": self.tokens, "bins": self.knots}.get(self.form, self.mean)
        if len(own) < (2 if self.form == "bins" else 1) or self.width != len(own):
            raise ValueError("a group of features must have the columns of its form, and no others")
        for names in (self.tokens, self.knots):
            if not all(one < other for one, other in pairwise(names)):  # type: ignore[operator]
                raise ValueError("the columns of a group of features must be there, each once and in order")
        if not (self.unit > 0.0 and self.spread > 0.0):
            raise ValueError("the scale of a group of features must be above 0")

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.tokens) + len(self.knots) + len(self.mean)

    def encode(self, values: Any) -> csr_array:
        """Rows of the items (bags of tokens, numbers, or rows of numbers); what is not known is left out."""
        if self.form == "tokens":
            return self._of_tokens(values)
        return self._of_bins(values) if self.form == "bins" else self._of_numbers(values)

    def _of_tokens(self, bags: Bags) -> csr_array:
        """A row's tokens share a squared length of 1."""
        places = {token: place for place, token in enumerate(self.tokens)}
        rows = [sorted({places[token] for token in bag if token in places}) for bag in bags]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
        columns = np.fromiter((place for row in rows for place in row), np.int64, int(lengths.sum()))
        return self._matrix(values, columns, lengths)

    def _of_numbers(self, rows: Floats) -> csr_array:
        known = np.isfinite(rows).all(axis=1)
        with np.errstate(over="ignore"):
            scaled = np.clip(rows[known] / self.unit, -_FARTHEST_OUT, _FARTHEST_OUT)
            standard = (scaled - np.array(self.mean)) / self.spread
        if self.form == "number":
            standard = np.clip(standard, -_FARTHEST, _FARTHEST)
        columns = np.tile(np.arange(self.width), int(known.sum()))
        return self._matrix(standard.ravel(), columns, self.width * known.astype(np.int64))

    def _of_bins(self, values: Floats) -> csr_array:
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
        return self._matrix(weights.ravel(), columns.ravel(), 2 * known.astype(np.int64))

    def _matrix(self, values: Floats, columns: Any, lengths: Any) -> csr_array:
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        return csr_array((values, columns, pointers), shape=(len(lengths), self.width))


def learn_group(name: str, form: Form, values: Any, common: float = 1.0) -> Group | None:
    """A group of the values of all items, or nothing where they tell no two items apart.

    Tokens of more than the share ``common`` of the items are left out.
    """
    if form == "tokens":
        counts = Counter(token for bag in values for token in set(bag))
        most = len(values) - 1 if common >= 1.0 else max(_FEWEST_ITEMS, int(common * len(values)))
        known = [(-count, token) for token, count in counts.items() if _FEWEST_ITEMS <= count <= most]
        tokens = sorted(token for _, token in sorted(known)[:_LARGEST_VOCABULARY])
        return Group(name, form, tokens=tuple(tokens)) if tokens else None
    if form == "bins":
        ordered = np.sort(values[np.isfinite(values)])
        places = [round(share * (len(ordered) - 1) / (_BINS - 1)) for share in range(_BINS)]
        knots = sorted({float(ordered[place]) + 0.0 for place in places}) if len(ordered) else []
        return Group(name, form, knots=tuple(knots)) if len(knots) > 1 else None
    rows = values[np.isfinite(values).all(axis=1)]
    unit = float(np.abs(rows).max(initial=0.0))
    if unit == 0.0 or (rows == rows[0]).all():
        return None
    columns = [column / unit for column in rows.T]
    mean = [_mean(column) for column in columns]
    squares = [_mean(np.square(column - middle)) for column, middle in zip(columns, mean, strict=True)]
    spread = math.sqrt(math.fsum(squares))
    return Group(name, form, unit=unit, mean=tuple(mean), spread=spread) if spread > 0.0 else None


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)
