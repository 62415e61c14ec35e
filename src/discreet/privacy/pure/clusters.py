"""Releases about clusters without delta: items, values and sizes; and choices by the noisy minimum of losses.

Proof note: ``proofs/clusters.md``. Each function says what one user changes; the gate checks sums on the integers. A
loss is a sum over users of a capped squared distance between 0 and `LOSS_STEPS`, so all losses rise together when one
comes: one-sided scores, as the gate's noisy minimum needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.kernels import distances as kernels
from discreet.privacy.bounded_rows import GRID, HALF_SIDE, BoundedRows, Clusters
from discreet.privacy.pure.gate import Contributions, PureGate
from discreet.types import Floats, Ints, Shorts

__all__ = [
    "LOSS_STEPS",
    "Distances",
    "NoisySums",
    "cluster_sizes",
    "cluster_values",
    "count_users",
    "nearest_tables",
    "top_items",
]

LOSS_STEPS = 4096
"""Steps of the largest loss a user can cause."""


class NoisySums(NamedTuple):
    """Noisy integers, and the scale of their noise (one over its rate)."""

    sums: Ints
    scale: float


def count_users(gate: PureGate, name: str, n_users: int, *, epsilon: float) -> int:
    """How many users there are. **Privacy**: a user counts 1."""
    users = np.arange(n_users)
    given = Contributions(users, np.zeros_like(users), np.ones_like(users), n_users, 1)
    return int(gate.sums(name, given, bound=1, epsilon=epsilon)[0])


def top_items(gate: PureGate, name: str, clusters: Clusters, most: int, *, epsilon: float) -> Ints:
    """For each cluster the `most` items that most of its users rated (clusters x most, rising).

    **Privacy**: a user counts 1 for at most ``bounds.items`` items of one cluster.
    """
    rows, count = clusters.rows, clusters.count
    every = np.tile(np.arange(rows.n_items), (count, 1))
    given = _on_support(clusters, every, np.ones_like(rows.values))
    return gate.top(name, given, groups=count, most=most, user_cells=rows.bounds.items, epsilon=epsilon)


def cluster_values(
    gate: PureGate, name: str, clusters: Clusters, support: Ints, *, epsilon: float
) -> NoisySums:
    """For each cluster the sums of its users' values of the items in its support (clusters x size).

    **Privacy**: a user adds to one cluster, together no more than the L1 bound of a row, and no more than `GRID` for
    each item of the support that a row can hold.
    """
    bounds = clusters.rows.bounds
    bound = min(bounds.total, _widest(clusters, support) * GRID)
    given = _on_support(clusters, support, clusters.rows.values)
    sums = gate.sums(name, given, bound=bound, epsilon=epsilon).reshape(support.shape)
    return NoisySums(sums, bound / epsilon)


def cluster_sizes(gate: PureGate, name: str, clusters: Clusters, *, epsilon: float) -> NoisySums:
    """How many users each cluster has (clusters x 1). **Privacy**: a user counts 1 in one cluster."""
    users = np.flatnonzero(clusters.inside)
    numbers = clusters.numbers[users]
    given = Contributions(users, numbers, np.ones_like(numbers), clusters.rows.n_users, clusters.count)
    return NoisySums(gate.sums(name, given, bound=1, epsilon=epsilon)[:, None], 1.0 / epsilon)


def _widest(clusters: Clusters, support: Ints) -> int:
    """How many items of a support one row can hold."""
    return min(clusters.rows.bounds.items, int(support.shape[1]))


def _on_support(clusters: Clusters, support: Ints, values: Ints) -> Contributions:
    """Each user's amounts in cells numbered support by support; items outside of it are left out."""
    rows, users = clusters.rows, clusters.rows.owners()
    place = np.full((clusters.count, rows.n_items), -1, dtype=np.int64)
    place[np.arange(clusters.count)[:, None], support] = np.arange(support.size).reshape(support.shape)
    cells = place[clusters.places()[users], rows.pattern.items]
    kept = (cells >= 0) & clusters.inside[users]
    return Contributions(users[kept], cells[kept], values[kept], rows.n_users, support.size)


@dataclass(frozen=True)
class Distances:
    """Private: each user's squared distance to each candidate, in steps from 0 to `LOSS_STEPS`."""

    steps: Shorts

    @classmethod
    def between(cls, points: Ints, candidates: Ints, loss_cap: float) -> Distances:
        """Exact integers; beyond `loss_cap` squared half sides of the cube all distances are the same."""
        cap = max(1, int(loss_cap * HALF_SIDE * HALF_SIDE))
        # Within the cube no square passes 64 bits.
        inside, among = (np.clip(part, -HALF_SIDE, HALF_SIDE) for part in (points, candidates))
        return cls(kernels.capped_distances(inside, among, cap, LOSS_STEPS))

    @property
    def n_candidates(self) -> int:
        """How many candidates there are."""
        return int(self.steps.shape[1])

    def swap_losses(self, chosen: Ints) -> Ints:
        """Loss after each swap: row for the centre that leaves, column for the candidate that comes."""
        return kernels.swap_losses(self.steps, chosen)

    def loss(self, chosen: Ints) -> int:
        """Sum over users of the distance to the nearest of the chosen candidates."""
        return int(self.steps[:, chosen].min(axis=1, initial=LOSS_STEPS).sum(dtype=np.int64))

    def best_swap(
        self, gate: PureGate, name: str, chosen: Ints, others: Ints, *, epsilon: float
    ) -> tuple[int, int]:
        """Which of the chosen should leave for which of the others."""
        best = gate.lowest(
            name, lambda: self.swap_losses(chosen)[:, others].ravel(), bound=LOSS_STEPS, epsilon=epsilon
        )
        return best // len(others), best % len(others)

    def best_set(self, gate: PureGate, name: str, sets: Sequence[Ints], *, epsilon: float) -> int:
        """Which of several sets of candidates is nearest to the users."""
        return gate.lowest(
            name,
            lambda: np.array([self.loss(one) for one in sets], dtype=np.int64),
            bound=LOSS_STEPS,
            epsilon=epsilon,
        )


def nearest_tables(
    gate: PureGate, name: str, rows: BoundedRows, tables: Sequence[Floats], *, loss_cap: float, epsilon: float
) -> int:
    """Which of several released tables (ratings less the centre) has rows nearest to the users' rows.

    Notes
    -----
    **Privacy.** A user adds the distance to the nearest row of each table, within 0..`LOSS_STEPS`.
    """
    bounds, pattern = rows.bounds, rows.pattern
    cap = max(1, int(loss_cap * bounds.norm**2))

    def loss(table: Floats) -> int:
        steps = kernels.row_distances(
            pattern.indptr, pattern.items, rows.values, bounds.on_grid(table), cap, LOSS_STEPS, whole=True
        )
        return int(steps.sum())

    return gate.lowest(
        name,
        lambda: np.array([loss(table) for table in tables], dtype=np.int64),
        bound=LOSS_STEPS,
        epsilon=epsilon,
    )
