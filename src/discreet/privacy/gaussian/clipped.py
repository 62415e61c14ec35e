"""Contributions bounded by worst cases, as the published methods do it: at most k items, |u| <= 1, |x| <= 1.

Every mechanism here turns private arrays into integer blocks whose energy is at most 1 for every user, whatever the
arrays hold: what is too large is clipped here, and the bound follows from what was clipped, never from a number that
someone states. Rows are given in units of their public bound, so that "1" is the bound everywhere. The proof note is
``proofs/clipped.md``, and for rows over all items, too many to hold at once, ``proofs/dense_rows.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discreet import kernels
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.privacy.gaussian.blocks import COUNT, FEATURE, MARGIN, TARGET, Block, Pattern, UserVector
from discreet.privacy.gaussian.item_blocks import CoMoment, ItemMatrix, ItemVector, ItemWeight, UserMatrix
from discreet.privacy.gaussian.noise import Noise
from discreet.types import Bools, Floats, Shorts

__all__ = [
    "CoMoments",
    "DenseMoments",
    "DenseRows",
    "ItemCounts",
    "ItemNormalEquations",
    "ItemSums",
    "MeanValue",
    "NoisyCounts",
    "NoisyMoment",
    "NoisyProduct",
    "NoisySums",
    "NormalEquations",
    "Products",
    "clip_entries",
    "clip_rows",
]


def clip_rows(rows: Floats, bound: float = 1.0) -> Floats:
    """Each row scaled to a norm of at most ``bound`` (min, where the paper prints max); what is no number becomes 0."""
    norms = np.sqrt(kernels.square_norms(rows))
    scale = np.minimum(1.0, bound / np.maximum(norms, 1e-300))
    usable = np.isfinite(norms)
    return np.where(usable[:, None], rows, 0.0) * np.where(usable, scale, 0.0)[:, None]


@dataclass(frozen=True)
class ItemCounts:
    """Number of users of each item; every user has at most ``max_ratings`` items in the pattern."""

    n_items: int
    max_ratings: int

    def blocks(self, pattern: Pattern) -> list[Block]:
        """From who touched what."""
        _at_most(pattern, self.max_ratings)
        unit = COUNT * math.sqrt(self.max_ratings)
        weights = np.full(pattern.n_users, int(COUNT * MARGIN), dtype=np.int32)
        return [ItemWeight("counts", unit, pattern, np.ones(pattern.n_items), weights)]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyCounts:
        """Counts, and the scale of their noise."""
        counts = released["counts"] / float(int(COUNT * MARGIN))
        return NoisyCounts(counts, math.sqrt(self.max_ratings) / mu)


class NoisyCounts(NamedTuple):
    """Numbers of users, and the scale of their noise."""

    counts: Floats
    sigma: float


@dataclass(frozen=True)
class MeanValue:
    """Mean of all values (each clipped to [-1, 1]); every user has at most ``max_ratings`` of them.

    The sum and the number of values each move by up to ``max_ratings``, so the pair by sqrt(2) times that.
    """

    max_ratings: int

    def blocks(self, pattern: Pattern, values: Floats) -> list[Block]:
        """From one value for each pair of the pattern."""
        _at_most(pattern, self.max_ratings)
        sums = pattern.user_sums(clip_entries(values))
        grid = COUNT * MARGIN
        rows = np.trunc(np.column_stack([sums, pattern.counts]) * (grid / self.max_ratings)).astype(np.int32)
        unit = COUNT * math.sqrt(2.0)
        return [UserVector("sum and count", unit, rows)]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(1), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> float:
        """The mean."""
        total, count = released["sum and count"]
        # Fewer than one user's worth of ratings cannot be told from none.
        return float(np.clip(total / max(count, COUNT * MARGIN), -1.0, 1.0))


@dataclass(frozen=True)
class ItemSums:
    """Sum of the values (clipped to [-1, 1]) and number of users of each item, half the energy each."""

    n_items: int
    max_ratings: int

    def blocks(self, pattern: Pattern, values: Floats) -> list[Block]:
        """From one value for each pair of the pattern."""
        _at_most(pattern, self.max_ratings)
        ones = np.full((pattern.n_users, 1), int(FEATURE), dtype=np.int16)
        targets = np.trunc(clip_entries(values) * (TARGET * MARGIN)).astype(np.int16)
        root = math.sqrt(2.0 * self.max_ratings)
        same = np.ones(pattern.n_items)
        weights = np.full(pattern.n_users, int(COUNT * MARGIN), dtype=np.int32)
        return [
            ItemVector("sums", FEATURE * TARGET * root, pattern, same, ones, targets),
            ItemWeight("counts", COUNT * root, pattern, same, weights),
        ]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisySums:
        """Sums and counts, and the scale of the noise of both."""
        sums = released["sums"][:, 0] / (FEATURE * TARGET)
        return NoisySums(
            sums, released["counts"] / int(COUNT * MARGIN), math.sqrt(2.0 * self.max_ratings) / mu
        )


class NoisySums(NamedTuple):
    """Sums of values and numbers of users of each item, and the scale of the noise of both."""

    sums: Floats
    counts: Floats
    sigma: float


class NormalEquations(NamedTuple):
    """What leaves for one step of DPALS: per item a matrix and a vector, and one moment over all users."""

    matrix: Floats
    vector: Floats
    moment: Floats | None


@dataclass(frozen=True, eq=False)
class ItemNormalEquations:
    """For each item the sums of ``u u^T`` and ``x u`` over its users, and of ``u u^T`` over all users.

    Parameters
    ----------
    rank
        Entries of u.
    most
        Bound on each user's sum of squared item weights; that is the number of items where there are no weights.
        A user above it is scaled down as a whole; with ``fill`` a user below it is scaled up as well.
    sigma_matrix, sigma_vector, sigma_moment
        Standard deviation of the noise at the cost :attr:`mu`, where |u| <= 1 and |x| <= 1. Without
        ``sigma_moment`` there is no moment.
    item_weights
        Public weight of each item in what a user hands in; the sums that come back have the weight taken off
        again, so an item with a small weight has more noise.
    """

    rank: int
    most: float
    sigma_matrix: float
    sigma_vector: float
    sigma_moment: float | None
    item_weights: Floats
    fill: bool = False

    @property
    def mu(self) -> float:
        """``mu^2 = most (1 / sigma_matrix^2 + 1 / sigma_vector^2) + 1 / sigma_moment^2``."""
        mu = math.sqrt(self.most) * math.hypot(1.0 / self.sigma_matrix, 1.0 / self.sigma_vector)
        return mu if self.sigma_moment is None else math.hypot(mu, 1.0 / self.sigma_moment)

    @property
    def _grid(self) -> float:
        # Largest share there can be, on the item of the smallest weight: the grid must hold it.
        return float(self.item_weights.min()) / math.sqrt(self.most) if self.fill else 1.0

    def blocks(self, pattern: Pattern, rows: Floats, values: Floats) -> list[Block]:
        """From u (users x rank, clipped to norm 1) and x (one for each pair, clipped to [-1, 1])."""
        rows, values, weights = clip_rows(rows), clip_entries(values), self.item_weights
        share = _shares(pattern, weights, self.most, fill=self.fill)
        root = np.sqrt(share * self._grid) * MARGIN
        features = np.trunc(rows * (root * FEATURE)[:, None]).astype(np.int16)
        targets = np.trunc(values * np.repeat(root * TARGET, np.diff(pattern.indptr))).astype(np.int16)
        matrix, vector = self._units()
        blocks: list[Block] = [
            ItemMatrix("matrix", matrix * self.sigma_matrix * self.mu, pattern, weights, features),
            ItemVector("vector", vector * self.sigma_vector * self.mu, pattern, weights, features, targets),
        ]
        if self.sigma_moment is not None:
            whole = np.trunc(rows * (FEATURE * MARGIN)).astype(np.int16)
            blocks.append(UserMatrix("moment", FEATURE**2 * self.sigma_moment * self.mu, whole))
        return blocks

    def empty(self) -> list[Block]:
        nobody = Pattern.empty(len(self.item_weights))
        return self.blocks(nobody, np.zeros((0, self.rank)), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> NormalEquations:
        """Matrices and vectors; each has the noise of its sigma, times what the release cost less."""
        matrix, vector = self._units()
        moment = released.get("moment")
        return NormalEquations(
            released["matrix"] / matrix,
            released["vector"] / vector,
            None if moment is None else moment / FEATURE**2,
        )

    def _units(self) -> tuple[float, float]:
        return FEATURE**2 * self._grid, FEATURE * TARGET * self._grid


@dataclass(frozen=True)
class CoMoments:
    """Items x items: the sum over users of ``y y^T``, each user's sparse row y clipped to norm 1."""

    n_items: int

    def blocks(self, pattern: Pattern, values: Floats) -> list[Block]:
        """From one value for each pair of the pattern, in units of the bound on a row."""
        rows = _clip_segments(pattern, values)
        integers = np.trunc(rows * (FEATURE * MARGIN)).astype(np.int16)
        return [CoMoment("rows", FEATURE**2, pattern, integers)]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyMoment:
        """The matrix, whose noise has scale 1 / mu on the diagonal."""
        return NoisyMoment(released["rows"] / FEATURE**2, mu)


class NoisyMoment(NamedTuple):
    """A second moment over the items; its noise has scale 1 / mu on the diagonal."""

    matrix: Floats
    mu: float


@dataclass(frozen=True, eq=False)
class Products:
    """Sum over users of ``y (y . v)``, y clipped to norm 1 and v at most of it: one step of a power method."""

    direction: Floats

    def __post_init__(self) -> None:
        length = float(np.sqrt((self.direction**2).sum()))
        if not length <= 1.0 + 1e-9:
            raise SettingsInvalid(f"the direction has length {length:g}, above 1")

    def blocks(self, pattern: Pattern, values: Floats) -> list[Block]:
        """From one value for each pair of the pattern, in units of the bound on a row."""
        rows = _clip_segments(pattern, values)
        along = np.clip(pattern.user_sums(rows * self.direction[pattern.items]), -1.0, 1.0)
        return [
            ItemVector(
                "products",
                FEATURE * TARGET,
                pattern,
                np.ones(pattern.n_items),
                np.trunc(along[:, None] * (FEATURE * MARGIN)).astype(np.int16),
                np.trunc(rows * (TARGET * MARGIN)).astype(np.int16),
            )
        ]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(len(self.direction)), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyProduct:
        """The product, whose noise has scale 1 / mu."""
        return NoisyProduct(released["products"][:, 0] / (FEATURE * TARGET), mu)


class NoisyProduct(NamedTuple):
    """A product of the second moment with a direction; its noise has scale 1 / mu."""

    product: Floats
    mu: float


def _at_most(pattern: Pattern, most: int) -> None:
    if pattern.n_users and pattern.counts.max() > most:
        raise SettingsInvalid(
            f"a user has more than {most} items in a release that is bounded by that number"
        )


def clip_entries(values: Floats) -> Floats:
    """Clipped to [-1, 1]; what is no number becomes 0."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)


def _clip_segments(pattern: Pattern, values: Floats) -> Floats:
    """Each user's row of values scaled to norm at most 1; what is no number becomes 0."""
    finite = np.where(np.abs(values) < 1e150, values, 0.0)
    norms = np.sqrt(pattern.user_squares(values=finite))
    scale = 1.0 / np.maximum(norms, 1.0)
    return finite * np.repeat(scale, np.diff(pattern.indptr))


def _shares(pattern: Pattern, weights: Floats, most: float, *, fill: bool) -> Floats:
    """Factor of all that a user hands in, so that its square times their squared weights is at most ``most``."""
    load = pattern.user_squares(weights)
    share = np.sqrt(np.divide(most, load, out=np.zeros_like(load), where=load > 0))
    return share if fill else np.minimum(share, 1.0)


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
