"""What each user says about items, and about pairs of items: whole numbers, every user at length 1.

The proof note is ``proofs/pairs.md``. A user has one small whole number v_i at each of their items (1 for a click, 0 to
20 for a liked rating). Both mechanisms turn these into one large whole number a user, rounded toward zero, so that the
user's whole contribution has length 1 at most, however many items there are:

    counts   a v_i for each item,             a = floor(2^32 sqrt(1 - s) / sqrt(sum v^2))
    pairs    a v_i v_j for each pair i < j,   a = floor(2^32 / sqrt((sum v^2)^2 - sum v^4))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian.blocks import Block, Pattern, UserVector
from discreet.privacy.gaussian.noise import Noise
from discreet.types import Bools, Floats, Ints, Shorts

__all__ = ["HIGHEST", "Counts", "ItemAmounts", "NoisyCounts", "NoisyPairs", "PairAmounts", "Pairs"]

HIGHEST = 20
"""The largest value a user may have at an item."""

_UNIT = 2.0**32
# Of the counts' energy for the number of users, which is one number and needs little.
_USERS = 0.05
_USERS_UNIT = 2.0**30
# What a user says of a pair stands once in the sum and twice in the symmetric matrix that it is one triangle of.
_ROOT_HALF = math.sqrt(0.5)


class NoisyCounts(NamedTuple):
    """How much each item was taken, every user's row at length 1, and how many users there are; with their noise."""

    counts: Floats
    sigma: float
    users: float
    users_sigma: float


class NoisyPairs(NamedTuple):
    """How much each pair of items was taken together, as the triangle above the diagonal, and the noise of an entry."""

    pairs: Floats
    sigma: float


@dataclass(frozen=True)
class _Amounts:
    name: str
    pattern: Pattern
    amounts: Ints
    values: Shorts

    def __post_init__(self) -> None:
        if self.amounts.shape != (self.pattern.n_users,) or self.values.shape != self.pattern.items.shape:
            raise RatingsInvalid(
                f"{self.name}: one amount a user and one value an entry, or sums would read beyond"
            )
        if self.amounts.dtype != np.int64 or self.values.dtype != np.int16:
            raise RatingsInvalid(f"{self.name}: amounts are int64 and values int16, as they are summed")

    @property
    def unit(self) -> float:
        return _UNIT

    def _powers(self) -> tuple[Floats, Floats]:
        """Each user's sum of squares and of fourth powers; whole numbers that float64 holds."""
        squares = self.pattern.user_squares(values=self.values)
        fourth = self.pattern.user_sums(self.values.astype(np.float64) ** 4)
        return squares, fourth


@dataclass(frozen=True)
class ItemAmounts(_Amounts):
    """For each item the sum over its users of ``amount * value``."""

    def energies(self) -> Floats:
        return (self.amounts / _UNIT) ** 2 * self._powers()[0]

    def without(self, users: Bools) -> ItemAmounts:
        return replace(self, amounts=np.where(users, 0, self.amounts))

    def parts(self) -> Sequence[ItemAmounts]:
        return [self]

    def total(self) -> Ints:
        rows = self.pattern.indptr, self.pattern.items
        return kernels.amount_sums(*rows, self.amounts, self.values, self.pattern.n_items)

    def sigmas(self, mu: float) -> Floats:
        return np.array(_UNIT / mu)

    def noise(self, source: Noise, mu: float) -> Floats:
        return source.integers(np.full(self.pattern.n_items, _UNIT / mu))


@dataclass(frozen=True)
class PairAmounts(_Amounts):
    """For each pair of items the sum over users of ``amount * value * value``: one triangle of a symmetric matrix."""

    def energies(self) -> Floats:
        squares, fourth = self._powers()
        return (self.amounts / _UNIT) ** 2 * (squares**2 - fourth)

    def without(self, users: Bools) -> PairAmounts:
        return replace(self, amounts=np.where(users, 0, self.amounts))

    def parts(self) -> Sequence[PairAmounts]:
        return [self]

    def total(self) -> Ints:
        order = self.pattern.n_items
        total = np.zeros(order * (order - 1) // 2, np.int64)
        self.add_to(total)
        return total

    def add_to(self, total: Ints) -> None:
        rows = self.pattern.indptr, self.pattern.items
        kernels.add_pairs(*rows, self.amounts, self.values, self.pattern.n_items, total)

    def sigmas(self, mu: float) -> Floats:
        return np.array(_UNIT * _ROOT_HALF / mu)

    def noise(self, source: Noise, mu: float) -> Floats:
        order = self.pattern.n_items
        return source.integers(np.broadcast_to(self.sigmas(mu), order * (order - 1) // 2))


@dataclass(frozen=True)
class Counts:
    """How much each item is taken, and by how many users in all.

    Notes
    -----
    **Privacy**. Unit: one user. A user with values v adds ``v / |v|`` times the root of 0.95, and the root of 0.05 to
    the number of users: a vector of length 1 at most. Who has nothing adds nothing.
    """

    n_items: int

    def blocks(self, pattern: Pattern, values: Shorts) -> list[Block]:
        """From each user's whole numbers."""
        values = _bounded(values)
        squares = pattern.user_squares(values=values)
        there = squares > 0
        users = np.where(there, math.sqrt(_USERS) * _USERS_UNIT, 0.0)[:, np.newaxis]
        return [
            ItemAmounts("counts", pattern, _amounts(squares, math.sqrt(1.0 - _USERS)), values),
            UserVector("users", _USERS_UNIT, np.trunc(users).astype(np.int32)),
        ]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0, np.int16))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyCounts:
        """In users, with the noise of each number."""
        items, users = math.sqrt(1.0 - _USERS), math.sqrt(_USERS)
        return NoisyCounts(
            released["counts"] / (_UNIT * items),
            1.0 / (mu * items),
            float(released["users"][0] / (_USERS_UNIT * users)),
            1.0 / (mu * users),
        )


@dataclass(frozen=True)
class Pairs:
    """How much each pair of items of the head is taken together; ``n_items`` is the length of the head.

    Notes
    -----
    **Privacy**. Unit: one user. Beside its diagonal, ``v v^T`` has the squared Frobenius norm (sum v^2)^2 - sum v^4; a
    user adds it at length 1 at most, as one triangle, each entry times the root of 2. Who has fewer than two items adds
    nothing.
    """

    n_items: int

    def blocks(self, pattern: Pattern, values: Shorts) -> list[Block]:
        """From each user's whole numbers."""
        values = _bounded(values)
        squares = pattern.user_squares(values=values)
        fourth = pattern.user_sums(values.astype(np.float64) ** 4)
        return [PairAmounts("pairs", pattern, _amounts(squares**2 - fourth, 1.0), values)]

    def empty(self) -> list[Block]:
        return self.blocks(Pattern.empty(self.n_items), np.zeros(0, np.int16))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyPairs:
        """In users, with the noise of each number."""
        return NoisyPairs(released["pairs"] * (1.0 / _UNIT), _ROOT_HALF / mu)


def _bounded(values: npt.NDArray[np.integer]) -> Shorts:
    """Values in their range, whatever they were: sums of products stay far below 2^63."""
    bounded: Shorts = np.clip(values, 0, HIGHEST).astype(np.int16)
    return bounded


def _amounts(energy: Floats, length: float) -> Ints:
    """What scales contributions of these squared lengths to ``length``, toward zero; 0 where there is nothing."""
    root = np.sqrt(np.where(energy > 0.0, energy, 1.0))
    return np.where(energy > 0.0, np.trunc(_UNIT * length / root), 0.0).astype(np.int64)
