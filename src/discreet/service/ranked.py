"""What ranks a handful of people at once: released factors, or a released table, laid out for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.kernels.ranking import panels
from discreet.model.fold_in.histories import Rows
from discreet.model.history import ReadHistory
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import Evidence, ItemWeights
from discreet.types import Bools, Floats, Indices

__all__ = ["RankedFactors", "RankedTable", "Seen"]

_Best: TypeAlias = tuple[npt.NDArray[np.int32], Floats]


class Seen(NamedTuple):
    """Items that are not to be listed, as compressed rows of people."""

    indptr: Indices
    items: Indices


@dataclass(frozen=True)
class _Touched:
    """The rows of the released arrays that one history touches: all that folding a person in looks at."""

    centre: float
    offsets: Floats
    factors: Floats
    moments: tuple[Floats, Floats]


class RankedFactors:
    """Factors in the order in which the ranking reads them; ``marks`` is one for each item, or ``None``."""

    def __init__(self, side: ItemSide) -> None:
        self._side = side
        self._panels = panels(side.design())
        self._base = side.offsets + side.centre
        self._moments = side.moments
        self.marks: npt.NDArray[Any] | None = None
        if side.doubt is not None:
            self.marks = np.array(side.doubt.marks(np.arange(side.n_items)), dtype=object)

    def fold_in(self, read: ReadHistory) -> Floats:
        """One person's coefficients."""
        side, items = self._side, read.items
        touched = _Touched(side.centre, side.offsets[items], side.factors[items], self._moments)
        values = side.scale.opinions(read.values) if side.goal == "rank" else read.values
        rows = Rows(read.indptr, np.arange(len(items), dtype=np.int32), values)
        return side.rule.coefficients(touched, rows, np.float64)

    def best(self, people: Sequence[Any], n: int, seen: Seen, allowed: Bools | None) -> _Best:
        """Positions and scores of the ``n`` best items of each."""
        index, scores = kernels.top_n(
            np.concatenate(people),
            self._panels,
            self._base,
            n,
            exclude_indptr=seen.indptr,
            exclude_items=seen.items,
            allowed=allowed,
        )
        return index, self._side.clipped(scores)


class RankedTable:
    """A table, which is laid out as it is."""

    marks: npt.NDArray[Any] | None = None

    def __init__(self, side: ItemWeights) -> None:
        self._side = side

    def fold_in(self, read: ReadHistory) -> Evidence:
        """One person's opinions."""
        return self._side.fold_in(read.indptr, read.items, read.values)

    def best(self, people: Sequence[Any], n: int, seen: Seen, allowed: Bools | None) -> _Best:
        """Positions and scores of the ``n`` best items of each."""
        evidence = Evidence(
            np.cumsum([0, *(len(one.items) for one in people)]),
            np.concatenate([one.items for one in people]),
            np.concatenate([one.opinions for one in people]),
        )
        return self._side.top(evidence, n, seen, allowed)
