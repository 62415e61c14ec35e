"""Integer contributions to sums for each item, and to second moments over users or items.

``item_weights`` c_j are public. An item's noise is divided by c_j and a user's contribution to it counts
c_j times, so the weight changes who gets how much of the budget without ever being rounded into a sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.privacy.gaussian.blocks import Pattern, silenced, spans
from discreet.privacy.gaussian.noise import Noise
from discreet.types import Bools, Floats, Shorts

__all__ = ["CoMoment", "ItemMatrix", "ItemVector", "ItemWeight", "UserMatrix"]

# A symmetrised matrix has this much less noise beside its diagonal (see Noise.symmetric_integers).
_OFF_DIAGONAL = math.sqrt(0.5)


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
        return replace(self, features=silenced(self.features, users))

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
        return replace(self, features=silenced(self.features, users))

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
        return replace(self, weights=silenced(self.weights, users))

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
        return replace(self, features=silenced(self.features, users))

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
        return replace(self, values=silenced(self.values, pairs))

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


def _must_fit(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse arrays that disagree with the pattern: compiled sums would read beyond their end."""
    if shape != expected:
        raise RatingsInvalid(f"{name}: an array has shape {shape} where the pattern needs {expected}")


def _square_norms(features: Shorts) -> Floats:
    norms: Floats = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    return norms
