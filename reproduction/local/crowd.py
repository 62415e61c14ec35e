"""Many simulated devices at once: their ratings by row, and what each would compute from its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.kernels.compile import kernel
from discreet.types import Floats

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Crowd:
    """Devices with their ratings, one row each; never an array of devices times items.

    A device's part of every result depends on that device's row, its profile and the released items alone.
    """

    indptr: Index
    items: npt.NDArray[np.int32]
    values: Floats
    n_items: int

    @classmethod
    def of(cls, ratings: Ratings) -> Crowd:
        """The users of explicit ratings, one device each."""
        if ratings.rating_range is None:
            raise RatingsInvalid("gradient descent on devices needs ratings with values, and a rating range")
        return cls(ratings.indptr, ratings.items, ratings.values, ratings.n_items)

    @property
    def size(self) -> int:
        """Number of devices."""
        return len(self.indptr) - 1

    @cached_property
    def counts(self) -> Index:
        """Ratings of each device."""
        return np.diff(self.indptr)

    @cached_property
    def rows(self) -> Index:
        """The device of each rating."""
        return np.repeat(np.arange(self.size), self.counts)

    @cached_property
    def _keys(self) -> Index:
        return self.rows * self.n_items + self.items

    def part(self, chosen: Index) -> Crowd:
        """The chosen devices, in that order."""
        counts = self.counts[chosen]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[chosen] - indptr[:-1], counts)
        return Crowd(indptr, self.items[entries], self.values[entries], self.n_items)

    def residuals(self, profiles: Floats, items: Floats) -> Floats:
        """``r_ij - u_i . v_j`` for every rating."""
        return kernels.residuals(self.indptr, self.items, self.values, profiles, items)

    def find(self, wanted: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.bool_], Index]:
        """Whether each device has rated the item asked of it, and where that rating is."""
        if not len(self.items):
            return np.zeros(self.size, dtype=bool), np.zeros(self.size, dtype=np.int64)
        keys = np.arange(self.size) * self.n_items + wanted
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return self._keys[place] == keys, place

    def by_device(self, entries: Floats, items: Floats) -> Floats:
        """Sum of ``entry times v_j`` over each device's ratings."""
        matrix = sparse.csr_array((entries, self.items, self.indptr), shape=(self.size, self.n_items))
        return np.asarray(matrix @ items)

    def by_item(self, entries: Floats, profiles: Floats) -> Floats:
        """Sum of ``entry times u_i`` over each item's ratings: what only an exact (not private) method may use."""
        matrix = sparse.csr_array((entries, self.items, self.indptr), shape=(self.size, self.n_items))
        return np.asarray(matrix.T @ profiles)

    def by_item_clipped(self, entries: Floats, weights: Floats, profiles: Floats) -> Floats:
        """Sum of ``weight times (entry u_i clipped to [-1, 1])`` over each item's ratings."""
        out = np.zeros((self.n_items, profiles.shape[1]))
        _add_clipped(self.indptr, self.items, entries, weights, np.ascontiguousarray(profiles), out)
        return out

    def total(self, entries: Floats) -> Floats:
        """Sum of the entries of each device."""
        return np.asarray(np.bincount(self.rows, weights=entries, minlength=self.size), dtype=np.float64)

    def step(self, profiles: Floats, items: Floats, penalty: float) -> Floats:
        """Each device's profile after the largest gradient step on its own ratings that cannot overshoot.

        Along the mean gradient, by one over the mean squared length of the device's items; nothing leaves the device.
        """
        counts = np.maximum(self.counts, 1)
        pull = self.by_device(self.residuals(profiles, items), items) / counts[:, np.newaxis]
        lengths = self.total(kernels.square_norms(items)[self.items]) / counts
        size = np.divide(1.0, lengths + penalty, out=np.zeros(self.size), where=lengths > 0.0)
        return np.asarray(profiles + size[:, np.newaxis] * (pull - penalty * profiles))


@kernel
def _add_clipped(indptr: Any, items: Any, entries: Any, weights: Any, profiles: Any, out: Any) -> None:
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            for c in range(out.shape[1]):
                out[items[k], c] += weights[k] * min(1.0, max(-1.0, entries[k] * profiles[i, c]))
