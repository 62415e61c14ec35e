"""Users in clusters: bounded rows, each in one cluster.

Proof note: ``proofs/bounded_rows.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import RatingsInvalid
from discreet.privacy.bounded_rows import BoundedRows
from discreet.types import Bools, Ints

__all__ = ["Clusters"]


@dataclass(frozen=True)
class Clusters:
    """Private: bounded rows, and which of `count` clusters each of their users is in.

    Notes
    -----
    **Privacy.** One number for each user, so nobody is in two clusters; a number outside 0..count - 1 is no
    cluster. A user's number must follow from that user's own ratings and from what was released before.
    """

    rows: BoundedRows
    numbers: Ints
    count: int

    def __post_init__(self) -> None:
        if self.numbers.shape != (self.rows.n_users,):
            raise RatingsInvalid("there must be one cluster for each user")

    @property
    def inside(self) -> Bools:
        """Who is in a cluster."""
        members: Bools = (self.numbers >= 0) & (self.numbers < self.count)
        return members

    def places(self) -> Ints:
        """The cluster of each user as an index, the first for those in none."""
        return np.where(self.inside, self.numbers, 0)
