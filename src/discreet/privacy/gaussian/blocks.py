"""Integer contributions: the only form in which anything may be handed to the gate.

A block is one kind of statistic (a vector for each item, a matrix over all users, ...). It holds what every
user contributes as integers on a public grid, says how large each user's contribution is, and sums them
exactly. ``unit`` is the size, in grid steps, that counts as 1; a user's energies over all blocks of a release
add up to at most 1, which is the sensitivity the gate relies on and checks.

``item_weights`` c_j are public. An item's noise is divided by c_j and a user's contribution to it counts
c_j times, so the weight changes who gets how much of the budget without ever being rounded into a sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.pattern import MOST_USERS, Pattern, spans
from discreet.types import Bools, Floats, Ints, Shorts

__all__ = [
    "MOST_USERS",
    "Adding",
    "Block",
    "CoMoment",
    "ItemMatrix",
    "ItemVector",
    "ItemWeight",
    "Pattern",
    "UserMatrix",
    "UserVector",
    "total_energies",
]

_Value = TypeVar("_Value", bound=np.generic)

# A symmetrised matrix has this much less noise beside its diagonal (see Noise.symmetric_integers).
_OFF_DIAGONAL = math.sqrt(0.5)


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
class _ItemBlock:
    name: str
    unit: float
    pattern: Pattern
    item_weights: Floats

    def __post_init__(self) -> None:
        _must_fit(self.name, self.item_weights.shape, (self.pattern.n_items,))
        if not (np.isfinite(self.item_weights) & (self.item_weights > 0.0)).all():
            raise SettingsInvalid(f"{self.name}: item weights must be finite and above zero")

    def _scales(self) -> Floats:
        """c_j / unit. Divided before anything is squared: the gate's bounds on both keep the square in range."""
        return self.item_weights / self.unit

    def _weight_sums(self) -> Floats:
        return self.pattern.user_squares(self._scales())

    def _sigma(self, mu: float) -> Floats:
        return self.unit / (mu * self.item_weights)

    def sigmas(self, mu: float) -> Floats:
        return self._sigma(mu)


@dataclass(frozen=True)
class ItemVector(_ItemBlock):
    """For each item the sum over its users of ``target * feature``: users x order, pairs -> items x order."""

    features: Shorts
    targets: Shorts

    def __post_init__(self) -> None:
        super().__post_init__()
        _must_fit(self.name, self.features.shape[:1], (self.pattern.n_users,))
        _must_fit(self.name, self.targets.shape, self.pattern.items.shape)

    def energies(self) -> Floats:
        energies: Floats = _square_norms(self.features) * self.pattern.user_squares(
            self._scales(), self.targets
        )
        return energies

    def sigmas(self, mu: float) -> Floats:
        return self._sigma(mu)[:, None]

    def without(self, users: Bools) -> ItemVector:
        return replace(self, features=_silenced(self.features, users))

    def parts(self) -> Sequence[ItemVector]:
        return [
            replace(
                self, pattern=pattern, features=self.features[start:stop], targets=self.targets[first:last]
            )
            for pattern, (start, stop), (first, last) in self.pattern.parts
        ]

    def total(self) -> Floats:
        return kernels.item_sums(*self.pattern.by_item, self.features, self.targets)

    def noise(self, source: Noise, mu: float) -> Floats:
        shape = self.pattern.n_items, self.features.shape[1]
        return source.integers(np.broadcast_to(self._sigma(mu)[:, None], shape))


@dataclass(frozen=True)
class ItemMatrix(_ItemBlock):
    """For each item the sum over its users of ``feature feature^T`` -> items x order x order."""

    features: Shorts

    def __post_init__(self) -> None:
        super().__post_init__()
        _must_fit(self.name, self.features.shape[:1], (self.pattern.n_users,))

    def energies(self) -> Floats:
        return _square_norms(self.features) ** 2 * self._weight_sums()

    def sigmas(self, mu: float) -> Floats:
        return (self._sigma(mu) * _OFF_DIAGONAL)[:, None, None]

    def without(self, users: Bools) -> ItemMatrix:
        return replace(self, features=_silenced(self.features, users))

    def parts(self) -> Sequence[ItemMatrix]:
        return [
            replace(self, pattern=pattern, features=self.features[start:stop])
            for pattern, (start, stop), _ in self.pattern.parts
        ]

    def total(self) -> Floats:
        indptr, users, _ = self.pattern.by_item
        return kernels.item_moments(indptr, users, self.features)

    def noise(self, source: Noise, mu: float) -> Floats:
        return source.symmetric_integers(self._sigma(mu), self.features.shape[1])


@dataclass(frozen=True)
class ItemWeight(_ItemBlock):
    """For each item the sum of its users' weights -> items."""

    weights: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        super().__post_init__()
        _must_fit(self.name, self.weights.shape, (self.pattern.n_users,))

    def energies(self) -> Floats:
        return self.weights.astype(np.float64) ** 2 * self._weight_sums()

    def without(self, users: Bools) -> ItemWeight:
        return replace(self, weights=_silenced(self.weights, users))

    def parts(self) -> Sequence[ItemWeight]:
        return [
            replace(self, pattern=pattern, weights=self.weights[start:stop])
            for pattern, (start, stop), _ in self.pattern.parts
        ]

    def total(self) -> Floats:
        indptr, users, _ = self.pattern.by_item
        return kernels.item_weights(indptr, users, self.weights)

    def noise(self, source: Noise, mu: float) -> Floats:
        return source.integers(self._sigma(mu))


@dataclass(frozen=True)
class UserMatrix:
    """One sum over all users of ``feature feature^T`` -> order x order."""

    name: str
    unit: float
    features: Shorts

    def energies(self) -> Floats:
        return (_square_norms(self.features) / self.unit) ** 2

    def without(self, users: Bools) -> UserMatrix:
        return replace(self, features=_silenced(self.features, users))

    def parts(self) -> Sequence[UserMatrix]:
        return [
            replace(self, features=self.features[start:stop]) for start, stop in spans(len(self.features))
        ]

    def total(self) -> Floats:
        return kernels.user_moment(self.features)

    def sigmas(self, mu: float) -> Floats:
        return np.array(self.unit / mu * _OFF_DIAGONAL)

    def noise(self, source: Noise, mu: float) -> Floats:
        sigma = np.array([self.unit / mu])
        return source.symmetric_integers(sigma, self.features.shape[1]).reshape(self.features.shape[1], -1)


@dataclass(frozen=True)
class CoMoment:
    """One sum over all users of ``row row^T``, rows sparse over the items -> items x items.

    ``values`` has one number for each pair of the pattern.
    """

    name: str
    unit: float
    pattern: Pattern
    values: Shorts

    def __post_init__(self) -> None:
        _must_fit(self.name, self.values.shape, self.pattern.items.shape)

    def energies(self) -> Floats:
        return (self.pattern.user_squares(values=self.values) / self.unit) ** 2

    def without(self, users: Bools) -> CoMoment:
        pairs = np.repeat(users, np.diff(self.pattern.indptr))
        return replace(self, values=_silenced(self.values, pairs))

    def parts(self) -> Sequence[CoMoment]:
        return [
            replace(self, pattern=pattern, values=self.values[first:last])
            for pattern, _, (first, last) in self.pattern.parts
        ]

    def total(self) -> Floats:
        return kernels.co_moment(self.pattern.indptr, self.pattern.items, self.values, self.pattern.n_items)

    def sigmas(self, mu: float) -> Floats:
        return np.array(self.unit / mu * _OFF_DIAGONAL)

    def noise(self, source: Noise, mu: float) -> Floats:
        order = self.pattern.n_items
        return source.symmetric_integers(np.array([self.unit / mu]), order).reshape(order, order)


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
        return replace(self, values=_silenced(self.values, users))

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


def _must_fit(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse arrays that disagree with the pattern: compiled sums would read beyond their end."""
    if shape != expected:
        raise RatingsInvalid(f"{name}: an array has shape {shape} where the pattern needs {expected}")


def _square_norms(features: Shorts) -> Floats:
    norms: Floats = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    return norms


def _silenced(values: npt.NDArray[_Value], users: Bools) -> npt.NDArray[_Value]:
    kept = values.copy()
    kept[users] = 0
    return kept
