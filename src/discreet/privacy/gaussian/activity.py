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

# How large variance, mean and squared mean are stated: 0.8^2 + 0.6^2 = 1 (see the proof note).
_PARTS = np.array([1.0, 0.8, 0.6])


class NoisyActivity(NamedTuple):
    """Noisy sums over users, and the noise scale of the number of users and of each bin.

    Parameters
    ----------
    users, histogram
        How many there are, and how many have about 1, 2, 4, ... ratings.
    within, level, square
        Sums of the variance of a user's ratings around their own mean, of that mean, and of its square, in units of
        half the range around its middle.
    sigma
        Standard deviation of the noise in each of ``users``, ``histogram`` and ``within``; ``level`` and ``square`` are
        released at 0.8 and 0.6 of their size.
    """

    users: float
    histogram: Floats
    within: float
    level: float
    square: float
    sigma: float


@dataclass(frozen=True)
class ActivitySums:
    """The number of users, a histogram of log2(ratings per user), and variance, mean and squared mean of ratings.

    Notes
    -----
    **Privacy**. Unit: one user. Adding a user adds 1 to the number, 1 to one bin, and (v, 0.8 m, 0.6 m^2), where m
    and v are mean and variance of their ratings in units of half the range around its middle, so v + m^2 <= 1. The L2
    change is at most sqrt(1 + 1 + (1 - m^2)^2 + 0.64 m^2 + 0.36 m^4) <= sqrt(3).
    """

    n_items: int

    @property
    def bound(self) -> float:
        """How far one user can move the release (L2)."""
        return math.sqrt(3.0)

    @property
    def _bins(self) -> int:
        return int(np.log2(max(self.n_items, 1))) + 1

    def blocks(self, pattern: Pattern, scaled: Floats) -> list[Block]:
        """From who touched what, and the ratings in units of half the range around its middle, clipped to [-1, 1]."""
        counts = np.diff(pattern.indptr)
        values = np.zeros((pattern.n_users, 1 + self._bins + 3))
        rows = np.flatnonzero(counts)
        values[rows, 0] = 1.0
        values[rows, 1 + np.log2(counts[rows]).astype(np.int64)] = 1.0
        if len(rows):
            values[rows, 1 + self._bins :] = _moments(pattern, clip_entries(scaled), rows)
        return [UserVector("activity", self.bound * COUNT, np.trunc(values * COUNT).astype(np.int32))]

    def empty(self) -> list[Block]:
        """The blocks without users: names, shapes and noise."""
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyActivity:
        """In real units."""
        numbers = released["activity"] / COUNT
        within, level, square = (numbers[-3:] / _PARTS).tolist()
        return NoisyActivity(float(numbers[0]), numbers[1:-3], within, level, square, self.bound / mu)


def _moments(pattern: Pattern, scaled: Floats, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    starts, counts = pattern.indptr[:-1][rows], np.diff(pattern.indptr)[rows]
    means = np.add.reduceat(scaled, starts) / counts
    squares = np.add.reduceat(scaled**2, starts) / counts
    moments: Floats = np.column_stack([np.maximum(squares - means**2, 0.0), means, means**2]) * _PARTS
    return moments
