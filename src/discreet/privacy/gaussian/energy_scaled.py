"""From a user's real-valued statistics to integers whose total norm is at most 1: user energy scaling.

Instead of clipping each rating, each vector and the number of items at worst-case bounds, a user's whole
contribution to a round is measured in units of the noise and scaled by one factor omega_i so that it has norm 1.
Scaling all of a user's contribution is a weight in a least-squares problem: it distorts nothing, and every user
spends the whole budget of the round. The proof note is ``proofs/energy_scaled.md``.

A user i with items j in Omega_i, feature vector phi_i, residuals e_ij, companion number s_i and count weight k_i
contributes to three sums (weights c_j and the scales rho are public):

    gradient_j  += omega_i e_ij phi_i                    counts c_j               unit 1
    weight_j    += omega_i                               counts c_j               unit rho_weight
    moment      += omega_i k_i (phi_i, s_i)(phi_i, s_i)^T   once                  unit rho_moment
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.privacy.gaussian.blocks import FEATURE, MARGIN, TARGET, WEIGHT, Block, Pattern
from discreet.privacy.gaussian.item_blocks import ItemVector, ItemWeight, UserMatrix
from discreet.types import Floats

__all__ = ["EnergyScaledSums", "RoundStatistics", "Units"]


@dataclass(frozen=True)
class Units:
    """Public sizes that count as 1, relative to the gradient's: larger means less noise energy spent there.

    Users with less than ``least_energy`` are scaled as if they had it: they stay below norm 1.
    """

    weight: float
    moment: float
    least_energy: float = 0.0


@dataclass(frozen=True)
class RoundStatistics:
    """What came out of the gate for one round, in real units, with the noise scale of each part.

    ``moment`` has second moments of ``(phi, companion)``, and ``moment_sigma`` is the scale on its diagonal.
    """

    gradient: Floats
    gradient_sigma: Floats
    weight: Floats
    weight_sigma: Floats
    moment: Floats
    moment_sigma: float


@dataclass(frozen=True, eq=False)
class EnergyScaledSums:
    """The sums of one round, every user's whole contribution scaled to norm 1; ``order`` is the length of phi."""

    item_weights: Floats
    units: Units
    order: int

    def blocks(
        self,
        pattern: Pattern,
        features: Floats,
        residuals: Floats,
        companions: Floats,
        moment_counts: Floats,
    ) -> list[Block]:
        """Scale and truncate phi (users x order), e (one for each pair), s and k (one for each user)."""
        item_weights, units = self.item_weights, self.units
        features, companions, residuals = _tamed(pattern, features, companions, residuals)
        norms = np.sqrt(np.einsum("ij,ij->i", features, features))
        square_weights = pattern.user_squares(item_weights)
        moment_norms = moment_counts * (norms**2 + companions**2)
        energy = norms**2 * pattern.user_squares(item_weights, residuals)
        energy += square_weights / units.weight**2
        energy += (moment_norms / units.moment) ** 2
        omega = _weights(pattern, np.maximum(energy, units.least_energy))
        floor = float(item_weights.min())
        return [
            _gradient(pattern, features, norms, residuals, omega, item_weights, floor),
            _weight(pattern, omega / units.weight, item_weights, floor),
            _moment(np.column_stack([features, companions]), omega * moment_counts / units.moment),
        ]

    def empty(self) -> list[Block]:
        none = np.zeros(0)
        nobody = Pattern.empty(len(self.item_weights))
        return self.blocks(nobody, np.zeros((0, self.order)), none, none, none)

    def read(self, released: Mapping[str, Floats], mu: float) -> RoundStatistics:
        """Noisy integer sums back in real units; needs nothing but what is public."""
        units, item_weights = self.units, self.item_weights
        floor = float(item_weights.min())
        return RoundStatistics(
            gradient=_divided(released["gradient"], FEATURE * TARGET * floor),
            gradient_sigma=1.0 / (mu * item_weights),
            weight=released["weight"] * (units.weight / (WEIGHT * floor)),
            weight_sigma=units.weight / (mu * item_weights),
            moment=released["moment"] * (units.moment / FEATURE**2),
            moment_sigma=units.moment / mu,
        )


def _divided(values: Floats, unit: float) -> Floats:
    out = np.empty(values.shape)

    def some(rows: slice) -> None:
        np.divide(values[rows], unit, out=out[rows])

    kernels.by_rows(some, len(out))
    return out


def _tamed(
    pattern: Pattern, features: Floats, companions: Floats, residuals: Floats
) -> tuple[Floats, Floats, Floats]:
    """Zero for users with anything that is not a usable number: they still count, and do no harm."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = (
            np.einsum("ij,ij->i", features, features) + companions**2 + pattern.user_squares(values=residuals)
        )
    wild = ~(size < 1e60)
    if not wild.any():
        return features, companions, residuals
    return (
        np.where(wild[:, None], 0.0, features),
        np.where(wild, 0.0, companions),
        np.where(np.repeat(wild, np.diff(pattern.indptr)), 0.0, residuals),
    )


def _weights(pattern: Pattern, energy: Floats) -> Floats:
    omega = np.zeros_like(energy)
    active = (pattern.counts > 0) & (energy > 0)
    omega[active] = MARGIN / np.sqrt(energy[active])
    return omega


def _grid(values: Floats, scale: Floats) -> npt.NDArray[np.int16]:
    """Truncate toward zero, which never raises a norm; one scale per row."""
    starts = np.arange(len(values) + 1) * values.shape[1]
    return kernels.truncated(starts, values.ravel(), scale).reshape(values.shape)


def _gradient(
    pattern: Pattern,
    features: Floats,
    norms: Floats,
    residuals: Floats,
    omega: Floats,
    item_weights: Floats,
    floor: float,
) -> ItemVector:
    unit = FEATURE * TARGET * floor
    stretch = np.divide(FEATURE, norms, out=np.zeros_like(norms), where=norms > 0)
    per_user = omega * norms * (TARGET * floor)
    targets = kernels.truncated(pattern.indptr, residuals, per_user)
    return ItemVector("gradient", unit, pattern, item_weights, _grid(features, stretch), targets)


def _weight(pattern: Pattern, omega: Floats, item_weights: Floats, floor: float) -> ItemWeight:
    unit = WEIGHT * floor
    return ItemWeight("weight", unit, pattern, item_weights, np.trunc(omega * unit).astype(np.int32))


def _moment(rows: Floats, omega: Floats) -> UserMatrix:
    return UserMatrix("moment", FEATURE**2, _grid(rows, np.sqrt(omega) * FEATURE))
