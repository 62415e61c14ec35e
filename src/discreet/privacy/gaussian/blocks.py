"""Integer contributions: the only form in which anything may be handed to the gate.

A block is one kind of statistic (a vector for each item, a matrix over all users, ...). It holds what every
user contributes as integers on a public grid, says how large each user's contribution is, and sums them
exactly. ``unit`` is the size, in grid steps, that counts as 1; a user's energies over all blocks of a release
add up to at most 1, which is the sensitivity the gate relies on and checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.pattern import MOST_USERS, Pattern, spans
from discreet.types import Bools, Floats, Ints

__all__ = ["MOST_USERS", "Adding", "Block", "Pattern", "UserVector", "silenced", "total_energies"]

_Value = TypeVar("_Value", bound=np.generic)


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
