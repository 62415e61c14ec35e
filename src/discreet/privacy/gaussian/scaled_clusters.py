"""Values of users in clusters, every user's whole contribution scaled to norm 1.

The proof note is ``proofs/cluster_sums.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.clipped import clip_entries
from discreet.privacy.gaussian.grid import FEATURE, MARGIN, TARGET
from discreet.privacy.gaussian.item_blocks import ItemVector
from discreet.privacy.gaussian.pattern import Pattern
from discreet.types import Floats, Ints

__all__ = ["NoisyClusterSums", "ScaledClusterSums"]


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
        """The block without users: name, shape and noise."""
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0), np.zeros(0, dtype=np.int64))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyClusterSums:
        """The sums, with noise of scale 1 / mu."""
        return NoisyClusterSums(released["sums"].T / (FEATURE * TARGET), 1.0 / mu)
