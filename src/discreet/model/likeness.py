"""Weights between items that features say are alike: for items that no pairs were counted of, and for new ones.

Two items are expected to be taken together root(m_i m_j) (constant + v_i . v_j) times, where m is how much each is
taken and v its features, each times the root of what it says. A weight is that over the ridge of the item that it comes
from: the first term of the formula by which EASE makes weights from pairs. Computed from releases and public features
alone, so it costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from discreet.errors import ModelInvalid
from discreet.model.wire import check_rows, check_shapes
from discreet.types import Bools, Floats, Ints, Singles

__all__ = ["ALIKE", "Likeness", "Triples", "joined"]

ALIKE = 20
"""Weights that features give to each item, at most."""
_ITEMS = 256

Triples = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Singles]
"""Items, other items, and numbers."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """What features say of the items.

    Parameters
    ----------
    starts, columns, values
        Compressed rows: each item's features, times the root of what they say.
    roots
        Of what each column of features says.
    constant
        What is expected where two items share nothing.
    mass
        How much each item is taken together with itself.
    ridge
        By what the pairs of an item are divided.
    scale
        By what an item's score is multiplied.
    added
        How many items, the last ones, were added after training.
    """

    starts: Ints
    columns: npt.NDArray[np.int32]
    values: Singles
    roots: Floats
    constant: float
    mass: Floats
    ridge: Floats
    scale: Floats
    added: int = 0

    @property
    def n_items(self) -> int:
        return len(self.mass)

    @property
    def rows(self) -> csr_array:
        """The features as a matrix."""
        shape = self.n_items, len(self.roots)
        return csr_array((self.values, self.columns, self.starts), shape=shape)

    def alike(self, items: npt.NDArray[np.integer]) -> Singles:
        """For each of these items, how alike every other is; never below zero, and nothing to itself."""
        rows = self.rows
        found: Singles = (rows[items] @ rows.T).toarray().astype(np.float32) + np.float32(self.constant)
        np.maximum(found, 0.0, out=found)
        found[np.arange(len(items)), items] = 0.0
        return found

    def nearest(self, item: int) -> tuple[npt.NDArray[np.int32], Floats]:
        """The items that are most like one, and how much."""
        (alike,) = self.alike(np.array([item]))
        order = np.argsort(-alike, kind="stable")[:ALIKE].astype(np.int32)
        order = order[alike[order] > 0.0]
        return order, alike[order].astype(np.float64)

    def weights(self, counted: Bools) -> Triples:
        """From and to each item, the largest of each that is scored; none where pairs of both were counted."""
        found = [self._to(items, counted) for items in _blocks(np.arange(self.n_items))]
        return joined(found)

    def with_rows(self, features: csr_array) -> Likeness:
        """With new items, of which is expected what the average item is."""
        count = features.shape[0]
        rows = csr_array(vstack([self.rows, features * self.roots]))
        rows.eliminate_zeros()
        return replace(
            self,
            starts=rows.indptr.astype(np.int64),
            columns=rows.indices.astype(np.int32),
            values=rows.data.astype(np.float32),
            mass=_lengthened(self.mass, count),
            ridge=_lengthened(self.ridge, count),
            scale=_lengthened(self.scale, count),
            added=self.added + count,
        )

    def new_weights(self, count: int) -> Triples:
        """From and to the last items, the largest of each of them."""
        last = np.arange(self.n_items - count, self.n_items)
        nobody = np.zeros(self.n_items, np.bool_)
        there = [self._to(items, nobody) for items in _blocks(last)]
        back = [self._from(items, last[0]) for items in _blocks(last)]
        return joined([*there, *back])

    def check(self, n_items: int) -> None:
        """Refuse arrays that do not fit each other or the items (`ModelInvalid`)."""
        entries, columns = self.columns.size, self.roots.size
        check_shapes(self, mass=(n_items,), ridge=(n_items,), scale=(n_items,), starts=(n_items + 1,))
        check_shapes(self, columns=(entries,), values=(entries,), roots=(columns,))
        check_rows(self.starts, self.columns, columns, "the items' features")
        if not math.isfinite(self.constant):
            raise ModelInvalid("the likeness has a constant that is not finite")
        if not (self.ridge > 0.0).all() or (self.mass < 0.0).any() or (self.roots < 0.0).any():
            raise ModelInvalid("ridges must be above 0, masses and roots not below")
        if not 0 <= self.added <= n_items:
            raise ModelInvalid(f"{self.added} items cannot have been added to {n_items}")

    def _to(self, items: npt.NDArray[np.int64], counted: Bools) -> Triples:
        alike = self.alike(items) * np.sqrt(self.mass) / self.ridge
        alike *= (np.sqrt(self.mass[items]) * self.scale[items])[:, np.newaxis]
        alike[np.ix_(counted[items], counted)] = 0.0
        to, others, found = _largest(alike)
        return others, items[to], found

    def _from(self, items: npt.NDArray[np.int64], before: np.int64) -> Triples:
        alike = self.alike(items)[:, :before] * (np.sqrt(self.mass) * self.scale)[:before]
        alike *= (np.sqrt(self.mass[items]) / self.ridge[items])[:, np.newaxis]
        place, others, found = _largest(alike)
        return items[place], others, found


def _largest(weights: Floats) -> Triples:
    """Of each row the largest that are above zero."""
    many = min(ALIKE, weights.shape[1])
    chosen = (
        np.argpartition(-weights, many - 1, axis=1)[:, :many] if many else np.zeros((len(weights), 0), int)
    )
    found = np.take_along_axis(weights, chosen, axis=1)
    rows, places = np.nonzero(found > 0.0)
    return rows, chosen[rows, places], found[rows, places].astype(np.float32)


def _blocks(items: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    return [items[first : first + _ITEMS] for first in range(0, len(items), _ITEMS)]


def joined(found: list[Triples]) -> Triples:
    """One after the other."""
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    rows, others, weights = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(others), np.concatenate(weights)


def _lengthened(numbers: Floats, count: int) -> Floats:
    return np.concatenate([numbers, np.full(count, numbers.mean())])
