"""Contributions of users in clusters: their number, the mean of each cluster, and its values of every item.

Every mechanism turns private arrays into integer blocks whose energy is at most 1 for every user, whatever the arrays
hold, and reads the noisy sums back. A user is in one cluster, or in none. The proof note is
``proofs/cluster_sums.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.privacy.bounded_rows import BoundedRows, Clusters, RowBounds
from discreet.privacy.gaussian.blocks import COUNT, FEATURE, MARGIN, TARGET, Block, Pattern, UserVector
from discreet.privacy.gaussian.clipped import clip_entries, clip_rows
from discreet.privacy.gaussian.item_blocks import ItemVector
from discreet.types import Floats, Ints

__all__ = [
    "ClusterMeans",
    "ClusterValues",
    "NoisyClusterSums",
    "NoisyMeans",
    "NoisyValues",
    "ScaledClusterSums",
    "UserCount",
]


# Grid steps of what says which cluster a user is in, and of a one beside it.
_HOT = 64
_ONE = 1024
# In the sums of points a user's presence counts this much beside a point of length 1; beside values, presence has this
# share of a user's energy.
_PRESENCE = 0.5
_SIZE_ENERGY = 0.3


class NoisyMeans(NamedTuple):
    """Noisy sums of the points and number of users of each cluster, and the noise scale of the numbers."""

    sums: Floats
    counts: Floats
    count_sigma: float


class NoisyValues(NamedTuple):
    """Noisy sums of values and sizes, clusters x items (or x 1 for sizes of whole clusters), and the noise of both."""

    sums: Floats
    sizes: Floats
    sum_sigma: float
    size_sigma: float


@dataclass(frozen=True)
class UserCount:
    """How many users there are.

    Notes
    -----
    **Privacy**. Unit: one user, who counts 1.
    """

    def blocks(self, n_users: int) -> list[Block]:
        """From the private number itself."""
        return [UserVector("users", COUNT, np.full((n_users, 1), int(COUNT), dtype=np.int32))]

    def empty(self) -> list[Block]:
        return self.blocks(0)

    def read(self, released: Mapping[str, Floats], mu: float) -> float:
        """The number, with noise of scale 1 / mu."""
        return float(released["users"][0]) / COUNT


@dataclass(frozen=True)
class ClusterMeans:
    """For each cluster the sum of its users' points, each within the unit ball, and how many they are.

    Notes
    -----
    **Privacy**. Unit: one user, who adds (point, 1/2) / sqrt(1 + 1/4) in one cluster's place: the L2 change is at
    most 1. A longer point is scaled down to length 1, and what is no number becomes 0; who is in no cluster adds
    nothing.
    """

    count: int
    dimension: int

    @property
    def _scale(self) -> float:
        return COUNT / math.sqrt(1.0 + _PRESENCE**2)

    def blocks(self, points: Floats, clusters: Ints) -> list[Block]:
        """From each user's point and the number of the cluster."""
        if points.shape != (len(clusters), self.dimension):
            raise RatingsInvalid(f"points have shape {points.shape} for {len(clusters)} clusters of users")
        users = np.flatnonzero((clusters >= 0) & (clusters < self.count))
        places = clusters[users]
        given = np.zeros((len(points), self.count, self.dimension + 1), dtype=np.int32)
        given[users, places, : self.dimension] = np.trunc(clip_rows(points)[users] * self._scale)
        given[users, places, self.dimension] = int(self._scale * _PRESENCE)
        return [UserVector("clusters", COUNT, given.reshape(len(points), self.count * (self.dimension + 1)))]

    def empty(self) -> list[Block]:
        return self.blocks(np.zeros((0, self.dimension)), np.zeros(0, dtype=np.int64))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyMeans:
        """Sums and numbers."""
        noisy = released["clusters"].reshape(self.count, self.dimension + 1) / self._scale
        counts = noisy[:, self.dimension] / _PRESENCE
        return NoisyMeans(noisy[:, : self.dimension], counts, COUNT / (mu * self._scale * _PRESENCE))


@dataclass(frozen=True)
class ClusterValues:
    """For each item and cluster the sum of the values, and how many users stand behind it.

    Notes
    -----
    **Privacy**. Unit: one user, in one cluster. A row has an L2 norm of at most ``bounds.norm`` and at most
    ``bounds.items`` entries; its values have 7/10 of the energy, and its ones (a one) the rest.
    """

    n_items: int
    count: int
    bounds: RowBounds

    @property
    def _sum_unit(self) -> float:
        return _HOT * self.bounds.norm / math.sqrt(1.0 - _SIZE_ENERGY)

    @property
    def _size_unit(self) -> float:
        return _HOT * _ONE / math.sqrt(_SIZE_ENERGY)

    def blocks(self, clusters: Clusters) -> list[Block]:
        """From bounded rows and their clusters."""
        rows = clusters.rows
        if (rows.bounds, rows.n_items, clusters.count) != (self.bounds, self.n_items, self.count):
            raise SettingsInvalid("rows or clusters have other bounds than the release")
        hot = np.zeros((rows.n_users, self.count), dtype=np.int16)
        hot[np.arange(rows.n_users), clusters.places()] = np.where(clusters.inside, _HOT, 0)
        same = np.ones(self.n_items)
        targets = rows.values.astype(np.int16)
        sums = ItemVector("sums", self._sum_unit, rows.pattern, same, hot, targets)
        return [sums, UserVector("sizes", self._size_unit, hot.astype(np.int32) * _ONE)]

    def empty(self) -> list[Block]:
        nothing = np.zeros(0, dtype=np.int64)
        rows = BoundedRows.of(np.zeros(1, dtype=np.int64), nothing, np.zeros(0), self.n_items, self.bounds)
        return self.blocks(Clusters(rows, nothing, self.count))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyValues:
        """Sums in steps of the rows' grid, and sizes in users."""
        return NoisyValues(
            released["sums"].T / _HOT,
            released["sizes"].reshape(-1, self.count).T / (_HOT * _ONE),
            self._sum_unit / (mu * _HOT),
            self._size_unit / (mu * _HOT * _ONE),
        )


class NoisyClusterSums(NamedTuple):
    """Noisy weighted sums of the values, clusters x items, and the scale of their noise."""

    sums: Floats
    sigma: float


@dataclass(frozen=True)
class ScaledClusterSums:
    """For each item and cluster the sum of ``omega x``, omega such that every user has energy 1.

    Notes
    -----
    **Privacy**. Unit: one user, who adds ``omega x`` in one cluster's place, omega = 1 / |x|: the L2 change is at most
    1 whatever the values are. A value beyond [-1, 1] is clipped, what is no number becomes 0; who is in no cluster,
    or has nothing but zeros, adds nothing.
    """

    n_items: int
    count: int

    def blocks(self, pattern: Pattern, values: Floats, clusters: Ints) -> list[Block]:
        """From one value for each pair of the pattern, and the number of each user's cluster."""
        if clusters.shape != (pattern.n_users,):
            raise RatingsInvalid("there must be one cluster for each user")
        values = clip_entries(values)
        energy = pattern.user_squares(values=values)
        members = np.flatnonzero((clusters >= 0) & (clusters < self.count) & (energy > 0.0))
        omega = np.zeros(pattern.n_users)
        omega[members] = MARGIN / np.sqrt(energy[members])
        hot = np.zeros((pattern.n_users, self.count), dtype=np.int16)
        hot[members, clusters[members]] = int(FEATURE)
        targets = np.trunc(values * np.repeat(omega * TARGET, np.diff(pattern.indptr))).astype(np.int16)
        return [ItemVector("sums", FEATURE * TARGET, pattern, np.ones(self.n_items), hot, targets)]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0), np.zeros(0, dtype=np.int64))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyClusterSums:
        """The sums, with noise of scale 1 / mu."""
        return NoisyClusterSums(released["sums"].T / (FEATURE * TARGET), 1.0 / mu)
