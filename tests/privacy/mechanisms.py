"""Every Gaussian mechanism with users to feed it, ordinary and hostile ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.privacy.bounded_rows import BoundedRows, Clusters, RowBounds
from discreet.privacy.gaussian import clipped, tallies
from discreet.privacy.gaussian.blocks import Block, Mechanism, Pattern
from discreet.privacy.gaussian.clipped import DenseMoments
from discreet.privacy.gaussian.cluster_sums import ClusterMeans, ClusterValues, ScaledClusterSums, UserCount
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, Units
from discreet.privacy.gaussian.pairs import Counts, Pairs
from discreet.privacy.gaussian.tallies import ActivitySums, LossAndCount
from tests.privacy.worlds import MU, Floats, distance, exact_release

M, RANK, MOST = 12, 3, 6


@dataclass(frozen=True)
class Users:
    """What each user has: items, a value for each of them, a row of numbers."""

    items: Sequence[npt.NDArray[np.integer]]
    values: Sequence[Floats]
    rows: Floats

    def __len__(self) -> int:
        return len(self.items)

    def take(self, users: Sequence[int]) -> Users:
        return Users([self.items[k] for k in users], [self.values[k] for k in users], self.rows[list(users)])

    def without(self, user: int) -> Users:
        return self.take([k for k in range(len(self)) if k != user])

    @property
    def pattern(self) -> Pattern:
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in self.items])]).astype(np.int64)
        return Pattern(indptr, np.concatenate([np.empty(0, np.int32), *self.items]).astype(np.int32), M)

    @property
    def flat(self) -> Floats:
        return np.concatenate([np.empty(0), *self.values])


def hostile_users(seed: int, most: int = MOST) -> Users:
    """Users at the bound, beyond it, with nothing, with what is no number; at most `most` items each."""
    rng = np.random.default_rng(seed)
    counts = [most, most, 1, 0, most, most, *rng.integers(1, most + 1, 6)]
    items = [np.sort(rng.choice(M, count, replace=False)) for count in counts]
    values = [rng.uniform(-1, 1, count) for count in counts]
    values[0][:] = 1.0
    values[1][:] = -1e30
    values[4][:] = np.nan
    values[5][:] = [np.inf, *([-np.inf] * (most - 1))]
    values[6][:] = np.resize([5.0, -1.0], len(values[6]))
    rows = rng.standard_normal((len(counts), RANK))
    rows[0] = [1.0, 0.0, 0.0]
    rows[1] = 1e200
    rows[2] = [np.nan, 1.0, np.inf]
    rows[5] = [0.0, 1e-300, 0.0]
    return Users(items, values, rows)


@dataclass(frozen=True)
class Case:
    """A mechanism, what of the users it is given, and how near to its bound the hostile ones come."""

    mechanism: Mechanism[Any]
    private: Callable[[Pattern, Floats, Floats], tuple[Any, ...]]
    reached: float = 0.99
    capped: bool = False
    wide: bool = False
    """Whether its sums are of 64-bit integers from the start, which need no parts of users."""

    def blocks(self, users: Users) -> list[Block]:
        with np.errstate(over="ignore", invalid="ignore"):
            return list(self.mechanism.blocks(*self.private(users.pattern, users.flat, users.rows)))

    @property
    def mu(self) -> float:
        """What the release costs here: its own price where it has one."""
        return float(getattr(self.mechanism, "mu", MU))

    def moves(self, users: Users) -> list[float]:
        """For each user: how many times its bound they move the release by."""
        full, sigmas = exact_release(self.blocks(users), self.mu)
        changes = []
        for user in range(len(users)):
            less, _ = exact_release(self.blocks(users.without(user)), self.mu)
            changes.append(distance(full, less, sigmas, self.mu))
        return changes


def equations(
    *, moment: float | None = None, weights: Floats | None = None, fill: bool = False
) -> clipped.ItemNormalEquations:
    return clipped.ItemNormalEquations(
        RANK, MOST, 9.0, 4.0, moment, np.ones(M) if weights is None else weights, fill
    )


def _round(pattern: Pattern, values: Floats, rows: Floats) -> tuple[Any, ...]:
    return pattern, rows, values, np.abs(rows[:, 0]), pattern.counts


def _small(pattern: Pattern, values: Floats, rows: Floats) -> tuple[Any, ...]:
    """Whole numbers, most of them from 0 to 20; some far outside, some below 0."""
    return pattern, np.nan_to_num(np.trunc(25.0 * values)).clip(-(2.0**62), 2.0**62).astype(np.int64)


def _clicks(pattern: Pattern, values: Floats, rows: Floats) -> tuple[Any, ...]:
    return pattern, np.ones(len(values), np.int16)


def _numbers(pattern: Pattern) -> npt.NDArray[np.int64]:
    """Of clusters; some users are in none, those with two or five items."""
    counts = pattern.counts.astype(np.int64)
    return np.where(counts == 2, -1, np.where(counts == 5, 10**9, counts % 3))


def values_of_clusters(bounds: RowBounds) -> Case:
    def private(pattern: Pattern, values: Floats, rows: Floats) -> tuple[Any, ...]:
        bounded = BoundedRows.of(pattern.indptr, pattern.items, 10.0 * values, M, bounds)
        return (Clusters(bounded, _numbers(pattern), 3),)

    return Case(ClusterValues(M, 3, bounds), private)


_WIDE = RowBounds.of((-5.0, 5.0), centre=0.0, items=MOST)
_NARROW = RowBounds.of((0.0, 5.0), centre=2.5, items=MOST - 2, cap=2.0, norm=2.7)
_UNEVEN = np.linspace(0.2, 3.0, M)
_AXES = np.linalg.qr(np.random.default_rng(5).standard_normal((M, RANK)))[0]

CASES = {
    "counts": Case(clipped.ItemCounts(M, MOST), lambda p, x, u: (p,), capped=True),
    "mean": Case(clipped.MeanValue(MOST), lambda p, x, u: (p, x), capped=True),
    "item sums": Case(clipped.ItemSums(M, MOST), lambda p, x, u: (p, x), capped=True),
    "equations": Case(equations(), lambda p, x, u: (p, u, x)),
    "equations with gravity": Case(equations(moment=2.0), lambda p, x, u: (p, u, x)),
    "weighted equations": Case(equations(weights=_UNEVEN, fill=True), lambda p, x, u: (p, u, x)),
    "weighted equations, light users left light": Case(equations(weights=_UNEVEN), lambda p, x, u: (p, u, x)),
    "co-moment": Case(clipped.CoMoments(M), lambda p, x, u: (p, 10.0 * x)),
    # The direction is nobody's own.
    "products": Case(
        clipped.Products(np.full(M, 1.0 / math.sqrt(M))), lambda p, x, u: (p, 10.0 * x), reached=0.7
    ),
    "dense moments": Case(DenseMoments(_AXES), lambda p, x, u: (p, x, u)),
    "energy-scaled sums": Case(EnergyScaledSums(_UNEVEN, Units(2.0, 3.0), RANK), _round),
    "activity": Case(ActivitySums(M), lambda p, x, u: (p, x)),
    "mean of means": Case(tallies.MeanOfMeans(), lambda p, x, u: (p, x)),
    "item tallies": Case(tallies.ItemTallies(M), lambda p, x, u: (p, x)),
    "counts of the liked": Case(Counts(M), _small, wide=True),
    "counts of clicks": Case(Counts(M), _clicks, wide=True),
    "pairs of the liked": Case(Pairs(M), _small, wide=True),
    "pairs of clicks": Case(Pairs(M), _clicks, wide=True),
    "choices": Case(tallies.Choices(M), lambda p, x, u: (p,)),
    "users": Case(UserCount(), lambda p, x, u: (p.n_users,)),
    "means of clusters": Case(ClusterMeans(3, RANK), lambda p, x, u: (u, _numbers(p))),
    "values of clusters": values_of_clusters(_WIDE),
    "values of clusters, narrow": values_of_clusters(_NARROW),
    "scaled values of clusters": Case(ScaledClusterSums(M, 3), lambda p, x, u: (p, x, _numbers(p))),
    "scaled values of clusters, clipped": Case(
        ScaledClusterSums(M, 3), lambda p, x, u: (p, 10.0 * x, _numbers(p))
    ),
    "loss and count": Case(LossAndCount(), lambda p, x, u: (u[:, 0], p.counts > 0)),
}
