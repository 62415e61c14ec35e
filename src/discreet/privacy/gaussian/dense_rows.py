"""Second moment of rows over all items, too many to hold at once: a product of small factors and a sparse part.

A row is ``weights V^T`` plus a number for each of the user's items. It is made, clipped and truncated when it is
needed, some users at a time, from that user's own numbers and public ones. The proof note is ``proofs/dense_rows.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet import kernels
from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian.blocks import FEATURE, MARGIN, Block, Pattern
from discreet.privacy.gaussian.clipped import NoisyMoment, clip_rows
from discreet.privacy.gaussian.noise import Noise
from discreet.types import Bools, Floats, Shorts

__all__ = ["DenseMoments", "DenseRows"]


# Entries made at once: 32 MB in double precision.
_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class DenseMoments:
    """Items x items: the sum over users of ``w w^T``, each row w over all items clipped to norm 1.

    Parameters
    ----------
    directions
        Items x rank: the dense part of a row is a combination of them.
    """

    directions: Floats

    def blocks(self, pattern: Pattern, values: Floats, weights: Floats) -> list[Block]:
        """From the sparse part of the rows, one number for each pair, and users x rank weights of the dense part."""
        return [DenseRows("rows", pattern, values, weights, self.directions)]

    def empty(self) -> list[Block]:
        """The blocks without users: names, shapes and noise."""
        nobody = Pattern.empty(len(self.directions))
        return self.blocks(nobody, np.zeros(0), np.zeros((0, self.directions.shape[1])))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyMoment:
        """The matrix, whose noise has scale 1 / mu on the diagonal."""
        return NoisyMoment(released["rows"] / FEATURE**2, mu)


@dataclass(frozen=True)
class DenseRows:
    """One sum over all users of ``row row^T`` -> items x items. Rows are clipped to norm 1, in steps of 2^-14."""

    name: str
    pattern: Pattern
    values: Floats
    weights: Floats
    directions: Floats
    silent: Bools | None = None

    def __post_init__(self) -> None:
        n, m, rank = self.pattern.n_users, self.pattern.n_items, self.weights.shape[-1]
        for array, shape in (
            (self.values, self.pattern.items.shape),
            (self.weights, (n, rank)),
            (self.directions, (m, rank)),
        ):
            if array.shape != shape:
                raise RatingsInvalid(f"{self.name}: an array has shape {array.shape} where {shape} is needed")

    @property
    def unit(self) -> float:
        """Squared norm of the longest row, in grid steps."""
        return FEATURE**2

    def rows(self, start: int, stop: int) -> Shorts:
        """What users ``start`` to ``stop`` hand in."""
        indptr = self.pattern.indptr[start : stop + 1]
        pairs = slice(int(indptr[0]), int(indptr[-1]))
        users = np.repeat(np.arange(stop - start), np.diff(indptr))
        dense = kernels.transform_rows(self.weights[start:stop], self.directions)
        with np.errstate(over="ignore", invalid="ignore"):
            dense[users, self.pattern.items[pairs]] += self.values[pairs]
        dense = clip_rows(dense) * (FEATURE * MARGIN)
        if self.silent is not None:
            dense[self.silent[start:stop]] = 0.0
        return np.trunc(dense, out=dense).astype(np.int16)

    def energies(self) -> Floats:
        squares = [np.einsum("ij,ij->i", rows, rows, dtype=np.float64) for rows in self._rows()]
        return np.concatenate([np.zeros(0), *squares]) ** 2 / self.unit**2

    def without(self, users: Bools) -> DenseRows:
        return replace(self, silent=users if self.silent is None else self.silent | users)

    def parts(self) -> Sequence[DenseRows]:
        return [
            replace(
                self,
                pattern=pattern,
                values=self.values[first:last],
                weights=self.weights[start:stop],
                silent=None if self.silent is None else self.silent[start:stop],
            )
            for pattern, (start, stop), (first, last) in self.pattern.parts
        ]

    def total(self) -> Floats:
        """Integers in double precision, every partial sum below 2^53: exact in any order, by BLAS as well."""
        total = np.zeros((self.pattern.n_items, self.pattern.n_items))
        for rows in self._rows():
            whole = rows.astype(np.float64)
            total += whole.T @ whole
        return total

    def sigmas(self, mu: float) -> Floats:
        return np.array(self.unit / mu * math.sqrt(0.5))

    def noise(self, source: Noise, mu: float) -> Floats:
        order = self.pattern.n_items
        return source.symmetric_integers(np.array([self.unit / mu]), order).reshape(order, order)

    def _rows(self) -> Iterator[Shorts]:
        size = max(1, _ENTRIES // self.pattern.n_items)
        for start in range(0, self.pattern.n_users, size):
            yield self.rows(start, min(start + size, self.pattern.n_users))
