"""Releases about clusters without delta: their items, the values of these, how many stand behind them.

Proof note: ``proofs/clusters.md``. Each function says what one user changes; the gate checks it on the integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.privacy.bounded_rows import GRID
from discreet.privacy.clusters import Clusters
from discreet.privacy.pure.contributions import Contributions
from discreet.privacy.pure.gate import PureGate
from discreet.types import Ints

__all__ = ["NoisySums", "cluster_sizes", "cluster_values", "count_users", "item_sizes", "top_items"]


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


def item_sizes(gate: PureGate, name: str, clusters: Clusters, support: Ints, *, epsilon: float) -> NoisySums:
    """For each cluster how many of its users rated each item of its support (clusters x size).

    **Privacy**: a user counts 1 for each item of one cluster's support that a row can hold.
    """
    bound = _widest(clusters, support)
    given = _on_support(clusters, support, np.ones_like(clusters.rows.values))
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
