"""Integer contributions: the only form in which anything may be handed to the gate, and the public grids they lie on.

A block is one kind of statistic (a vector for each item, a matrix over all users, ...). It holds what every
user contributes as integers on a public grid, says how large each user's contribution is, and sums them
exactly. ``unit`` is the size, in grid steps, that counts as 1; a user's energies over all blocks of a release
add up to at most 1, which is the sensitivity the gate relies on and checks.

Truncation toward zero never raises a norm, so whatever is bounded before it is bounded after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian.noise import Noise
from discreet.types import Bools, Floats, Ints, Shorts

__all__ = [
    "COUNT",
    "FEATURE",
    "LOSS",
    "MARGIN",
    "MEAN",
    "MOST_USERS",
    "SLACK",
    "TARGET",
    "VOTE_MARGIN",
    "WEIGHT",
    "Adding",
    "Block",
    "Mechanism",
    "Pattern",
    "UserVector",
    "silenced",
    "spans",
    "total_energies",
]

_Value = TypeVar("_Value", bound=np.generic)
T_co = TypeVar("T_co", covariant=True)
Integers = npt.NDArray[np.integer]
Span = tuple[int, int]

# Bits of the grid, sign excluded. A feature row is stretched to this norm, so it keeps 14 bits however small
# its owner's weight is; the weight goes into the targets, of which a user with one item can fill 15 bits.
FEATURE = float(2**14)
TARGET = float(2**15 - 1)
# Weights of items, and counts and means over users, are single numbers: they can be finer.
WEIGHT = float(2**28)
COUNT = float(2**20)
MEAN = float(2**20)
LOSS = float(2**22)
# Scaled down by this much before truncation, so that float rounding cannot lift an energy above 1.
MARGIN = 1.0 - 1e-10
# The same where only one division and one root were rounded.
VOTE_MARGIN = 1.0 - 1e-12
# Float rounding in computing energies (relative error below 1e-12 for any row length) is allowed for by
# this much in the gate's check and paid for by the same amount in the noise.
SLACK = 1e-9

MOST_USERS = 2**21
"""No contribution is larger than an int32, so double precision adds up those of so many users without error."""


def spans(n_users: int) -> list[Span]:
    """Users in order, at most :data:`MOST_USERS` at a time; one empty span where there is nobody."""
    starts = range(0, max(n_users, 1), MOST_USERS)
    return [(start, min(start + MOST_USERS, n_users)) for start in starts]


@dataclass(frozen=True)
class Pattern:
    """Which user touches which item, user-major and item-major. Private.

    CSR by user, a user's items strictly ascending; ``n_items`` is the size of the public catalogue.

    Notes
    -----
    **Privacy**. The kernels read memory where these arrays point, and energies count each pair once. So what would
    let a user count twice, or make the sums read something else than the energies did, is refused here.
    """

    indptr: Integers
    items: Integers
    n_items: int

    def __post_init__(self) -> None:
        ends = np.asarray(self.indptr)
        if len(ends) == 0 or ends[0] != 0 or ends[-1] != len(self.items) or (ends[1:] < ends[:-1]).any():
            raise RatingsInvalid("the row pointers must rise from 0 to the number of pairs")
        if len(self.items) == 0:
            return
        if self.items.min() < 0 or self.items.max() >= self.n_items:
            raise RatingsInvalid("an item index lies outside the catalogue")
        # Compared, not subtracted: a difference of unsigned numbers is never negative.
        rising = self.items[1:] > self.items[:-1]
        starts = ends[1:-1]
        rising[starts[(starts > 0) & (starts < len(self.items))] - 1] = True
        if not rising.all():
            raise RatingsInvalid("a user's items must be strictly ascending; repeated pairs are not allowed")

    @classmethod
    def empty(cls, n_items: int) -> Pattern:
        """No users, over a catalogue of this size."""
        return cls(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), n_items)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.indptr) - 1

    @cached_property
    def counts(self) -> Floats:
        """Items per user."""
        return np.diff(self.indptr).astype(np.float64)

    @cached_property
    def by_item(self) -> tuple[Integers, Integers, Integers]:
        """The same pairs item by item: (indptr, users, position in the user-major order)."""
        return kernels.transpose(self.indptr, self.items, self.n_items)

    @cached_property
    def parts(self) -> Sequence[tuple[Pattern, Span, Span]]:
        """The same, at most :data:`MOST_USERS` users at a time, with the spans of users and of pairs of each part."""
        if self.n_users <= MOST_USERS:
            return [(self, (0, self.n_users), (0, len(self.items)))]
        parts = []
        for start, stop in spans(self.n_users):
            first, last = int(self.indptr[start]), int(self.indptr[stop])
            rows = self.indptr[start : stop + 1] - first
            parts.append((Pattern(rows, self.items[first:last], self.n_items), (start, stop), (first, last)))
        return parts

    def user_sums(self, values: Floats) -> Floats:
        """Sum of a value per pair over each user's pairs."""
        return kernels.row_sums(self.indptr, values)

    def user_squares(self, weights: Floats | None = None, values: Floats | Shorts | None = None) -> Floats:
        """Sum over each user's pairs of ``(weights[item] * value) ** 2``; what is left out counts as 1."""
        return kernels.row_squares(self.indptr, self.items, weights, values)


class Block(Protocol):
    """What the gate needs to know of a block."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> float: ...
    def energies(self) -> Floats:
        """Squared L2 norm of each user's contribution, in units."""
        ...

    def without(self, users: Bools) -> Self:
        """The same block with these users' contributions set to zero."""
        ...

    def parts(self) -> Sequence[Self]:
        """The same contributions, at most :data:`MOST_USERS` users at a time."""
        ...

    def total(self) -> Floats | Ints:
        """Exact integer sum over at most :data:`MOST_USERS` users, in double precision or as integers of its own."""
        ...

    def sigmas(self, mu: float) -> Floats:
        """Noise scale of each entry of the sum, or a bound below it, in grid steps; broadcasts to the sum."""
        ...

    def noise(self, source: Noise, mu: float) -> Floats:
        """Integer Gaussian noise for a release at this mu."""
        ...


@runtime_checkable
class Adding(Block, Protocol):
    """A block whose sum is too large to be made anew for every part of the users."""

    def add_to(self, total: Ints) -> None:
        """Add the sum over all of its users to another one, in place."""
        ...


class Mechanism(Protocol[T_co]):
    """One kind of release. Its fields are public; what is private comes as arguments.

    ``blocks(*private)`` turns private arrays into integer blocks whose energies add up to at most 1 for every user,
    whatever the arrays hold.
    """

    @property
    def blocks(self) -> Any:
        """Integer contributions from private arrays."""

    def empty(self) -> Sequence[Block]:
        """The same blocks without any users: names, shapes, units and noise, from public facts alone."""

    def read(self, released: Mapping[str, Floats], mu: float) -> T_co:
        """What came out of the gate in real units; ``mu`` says how large the noise is."""


@dataclass(frozen=True)
class UserVector:
    """One sum over all users of a short vector of integers -> entries."""

    name: str
    unit: float
    values: npt.NDArray[np.int32]

    def energies(self) -> Floats:
        squares: Floats = ((self.values / self.unit) ** 2).sum(axis=1)
        return squares

    def without(self, users: Bools) -> UserVector:
        return replace(self, values=silenced(self.values, users))

    def parts(self) -> Sequence[UserVector]:
        return [replace(self, values=self.values[start:stop]) for start, stop in spans(len(self.values))]

    def total(self) -> Floats:
        total: npt.NDArray[np.int64] = self.values.sum(axis=0, dtype=np.int64)
        return total.astype(np.float64)

    def sigmas(self, mu: float) -> Floats:
        return np.array(self.unit / mu)

    def noise(self, source: Noise, mu: float) -> Floats:
        return source.integers(np.full(self.values.shape[1], self.unit / mu))


def total_energies(blocks: Sequence[Block]) -> Floats:
    """Each user's squared norm over all blocks of a release together."""
    energies: Floats = np.sum([block.energies() for block in blocks], axis=0)
    return energies


def silenced(values: npt.NDArray[_Value], users: Bools) -> npt.NDArray[_Value]:
    """These users' rows set to zero."""
    kept = values.copy()
    kept[users] = 0
    return kept
