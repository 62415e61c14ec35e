"""Contributions to the simplest statistics: means over users and for each item, how often an item was chosen, losses.

Every mechanism turns private arrays into integer blocks whose energy is at most 1 for every user, whatever the arrays
hold, and reads the noisy sums back. Values are in units of half the rating range around its middle, so they lie in
[-1, 1]; what does not is clipped. Proof notes: ``proofs/tallies.md``, ``proofs/activity.md``, ``proofs/scores.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.privacy.gaussian.blocks import (
    COUNT,
    FEATURE,
    LOSS,
    MARGIN,
    MEAN,
    TARGET,
    WEIGHT,
    Block,
    Pattern,
    UserVector,
)
from discreet.privacy.gaussian.clipped import clip_entries
from discreet.privacy.gaussian.item_blocks import ItemVector, ItemWeight
from discreet.types import Bools, Floats

__all__ = [
    "ActivitySums",
    "Choices",
    "ItemTallies",
    "LossAndCount",
    "MeanOfMeans",
    "NoisyActivity",
    "NoisyChoices",
    "NoisyLoss",
    "NoisyTallies",
]


# A user's mean gets three quarters of their energy and the count one: the least noise in the ratio for an overall mean
# of a third, and for no mean more than 4/3 of the best split's variance.
_SUM, _COUNT = 0.75**0.5, 0.5
# An item's weights have this many times the noise of its sums.
_WEIGHT_UNIT = 2.0
# A loss less 1/2 and the count, as a vector: (1/2)^2 + (1/4)^2 = 5/16 (``proofs/scores.md``).
_LOSS_COUNT, _LOSS_BOUND = 0.25, 5.0**0.5 / 4.0
# A number of users that does not stand this many deviations out of the noise is taken for that many.
_STANDS_OUT = 4.0


class NoisyTallies(NamedTuple):
    """Noisy weighted sum of the values and noisy weight of each item, and the noise scale of both."""

    sums: Floats
    weights: Floats
    sum_sigma: float
    weight_sigma: float


class NoisyChoices(NamedTuple):
    """How often each item was chosen, in users' weights, and the scale of the noise."""

    choices: Floats
    sigma: float


@dataclass(frozen=True)
class MeanOfMeans:
    """Mean over users of each user's own mean."""

    def blocks(self, pattern: Pattern, values: Floats) -> list[Block]:
        """From one value for each pair of the pattern."""
        active = pattern.counts > 0
        own = np.clip(pattern.user_sums(clip_entries(values)) / np.maximum(pattern.counts, 1.0), -1.0, 1.0)
        rows = np.column_stack([_SUM * own, np.full(pattern.n_users, _COUNT)]) * active[:, None]
        return [UserVector("means", MEAN, np.trunc(rows * (MEAN * MARGIN)).astype(np.int32))]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(1), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> float:
        """The mean."""
        total, users = released["means"] / (MEAN * np.array([_SUM, _COUNT]))
        return float(np.clip(total / max(users, _STANDS_OUT / (mu * _COUNT)), -1.0, 1.0))


@dataclass(frozen=True)
class ItemTallies:
    """For each item the sums of ``omega x`` and ``omega``, omega such that every user has energy 1."""

    n_items: int

    def blocks(self, pattern: Pattern, values: Floats) -> list[Block]:
        """From one value for each pair of the pattern."""
        values = clip_entries(values)
        energy = pattern.user_squares(values=values) + pattern.counts / _WEIGHT_UNIT**2
        omega = _inverse_root(energy)
        per_pair = np.repeat(omega * TARGET, np.diff(pattern.indptr))
        same = np.ones(pattern.n_items)
        return [
            ItemVector(
                "sums",
                FEATURE * TARGET,
                pattern,
                same,
                np.full((pattern.n_users, 1), FEATURE).astype(np.int16),
                np.trunc(values * per_pair).astype(np.int16),
            ),
            ItemWeight(
                "weights", WEIGHT, pattern, same, np.trunc(omega * (WEIGHT / _WEIGHT_UNIT)).astype(np.int32)
            ),
        ]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyTallies:
        """Sums and weights with their noise."""
        return NoisyTallies(
            released["sums"][:, 0] / (FEATURE * TARGET),
            released["weights"] * (_WEIGHT_UNIT / WEIGHT),
            1.0 / mu,
            _WEIGHT_UNIT / mu,
        )


@dataclass(frozen=True)
class Choices:
    """For each item the sum of ``1 / sqrt(number of items of the user)``."""

    n_items: int

    def blocks(self, pattern: Pattern) -> list[Block]:
        """From who touched what."""
        weights = np.trunc(_inverse_root(pattern.counts) * WEIGHT).astype(np.int32)
        return [ItemWeight("choices", WEIGHT, pattern, np.ones(pattern.n_items), weights)]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyChoices:
        """The sums, with noise of scale 1 / mu."""
        return NoisyChoices(released["choices"] / WEIGHT, 1.0 / mu)


class NoisyLoss(NamedTuple):
    """Noisy sum over users of their loss less 1/2 (lower is better), and the mean loss that follows, in [0, 1]."""

    total: float
    mean: float


@dataclass(frozen=True)
class LossAndCount:
    """The sum of all users' losses, each between 0 and 1, and the number of users who have one.

    Notes
    -----
    **Privacy**. Unit: one user. A user with a loss adds (loss - 1/2, 1/4): the L2 change is at most sqrt(5) / 4.
    Others add nothing. A loss outside [0, 1] is clipped, and what is no number counts as the worst.
    """

    def blocks(self, losses: Floats, active: Bools) -> list[Block]:
        """From one loss for each user, and who has one."""
        clipped = np.clip(np.nan_to_num(losses, nan=1.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
        rows = np.column_stack([clipped - 0.5, np.full(len(losses), _LOSS_COUNT)]) * active[:, None]
        return [UserVector("loss and count", _LOSS_BOUND * LOSS, np.trunc(rows * LOSS).astype(np.int32))]

    def empty(self) -> list[Block]:
        return self.blocks(np.zeros(0), np.zeros(0, dtype=np.bool_))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyLoss:
        """The sum, and the mean."""
        total, count = released["loss and count"] / LOSS
        users = max(count, _STANDS_OUT * _LOSS_BOUND / mu) / _LOSS_COUNT
        return NoisyLoss(float(total), float(min(max(0.5 + total / users, 0.0), 1.0)))


def _inverse_root(energy: Floats) -> Floats:
    """The factor that scales a contribution of this energy to 1; 0 for users without ratings."""
    factor = np.zeros_like(energy)
    filled = energy > 0
    factor[filled] = MARGIN / np.sqrt(energy[filled])
    return factor


# How large variance, mean and squared mean are stated: 0.8^2 + 0.6^2 = 1 (see the proof note).
_PARTS = np.array([1.0, 0.8, 0.6])


class NoisyActivity(NamedTuple):
    """Noisy sums over users, and the noise scale of the number of users and of each bin.

    ``histogram`` says how many have about 1, 2, 4, ... ratings; ``within``, ``level`` and ``square`` are sums of the
    variance of a user's ratings around their own mean, of that mean, and of its square, in units of half the range
    around its middle. ``level`` and ``square`` are released at 0.8 and 0.6 of their size, ``within`` with ``sigma``.
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
