"""The first, small release: how many users there are and how much they rate. Proof note: ``proofs/activity.md``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.privacy.gaussian.blocks import Block, UserVector
from discreet.privacy.gaussian.clipped import clip_entries
from discreet.privacy.gaussian.grid import COUNT
from discreet.privacy.gaussian.pattern import Pattern
from discreet.types import Floats

__all__ = ["ActivitySums", "NoisyActivity"]


class NoisyActivity(NamedTuple):
    """Noisy number of users, histogram of log2(ratings per user), sums of two variances, and the noise scale of all."""

    users: float
    histogram: Floats
    within: float
    between: float
    sigma: float


@dataclass(frozen=True)
class ActivitySums:
    """The number of users, a histogram of log2(ratings per user) and, for ratings, two mean variances.

    Notes
    -----
    **Privacy**. Unit: one user. Adding a user adds 1 to the number, 1 to one bin, and to the two variance sums
    numbers v, w >= 0 with v + w <= 1 (both are parts of the mean squared distance from the middle of the range,
    in units of half the range squared). The L2 change is at most sqrt(1 + 1 + v^2 + w^2) <= sqrt(3); sqrt(2) for
    implicit feedback.
    """

    n_items: int
    explicit: bool

    @property
    def bound(self) -> float:
        """How far one user can move the release (L2)."""
        return math.sqrt(3.0 if self.explicit else 2.0)

    @property
    def _bins(self) -> int:
        return int(np.log2(max(self.n_items, 1))) + 1

    def blocks(self, pattern: Pattern, scaled: Floats) -> list[Block]:
        """From who touched what, and the ratings in units of half the range around its middle, clipped to [-1, 1]."""
        counts = np.diff(pattern.indptr)
        values = np.zeros((pattern.n_users, 1 + self._bins + 2))
        rows = np.flatnonzero(counts)
        values[rows, 0] = 1.0
        values[rows, 1 + np.log2(counts[rows]).astype(np.int64)] = 1.0
        if self.explicit and len(rows):
            values[rows, 1 + self._bins :] = _variances(pattern, clip_entries(scaled), rows)
        return [UserVector("activity", self.bound * COUNT, np.trunc(values * COUNT).astype(np.int32))]

    def empty(self) -> list[Block]:
        """The blocks without users: names, shapes and noise."""
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyActivity:
        """In real units."""
        numbers = released["activity"] / COUNT
        within, between = numbers[-2:].tolist()
        return NoisyActivity(float(numbers[0]), numbers[1:-2], within, between, self.bound / mu)


def _variances(pattern: Pattern, scaled: Floats, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    starts, counts = pattern.indptr[:-1][rows], np.diff(pattern.indptr)[rows]
    means = np.add.reduceat(scaled, starts) / counts
    squares = np.add.reduceat(scaled**2, starts) / counts
    return np.column_stack([np.maximum(squares - means**2, 0.0), means**2])
