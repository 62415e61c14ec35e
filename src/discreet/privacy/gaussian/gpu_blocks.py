"""User energy scaling on a GPU: the blocks of :mod:`discreet.privacy.gaussian.energy_scaled`, held on the device.

Proof note: ``proofs/gpu.md``. Formulas and grids are those of the CPU; the bound is checked by the same function on
the same kind of numbers, the energies of the integers that are summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from discreet.kernels import gpu
from discreet.privacy.gaussian.blocks import FEATURE, MARGIN, TARGET, WEIGHT, Block, Pattern
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums
from discreet.privacy.gaussian.noise import Noise
from discreet.types import Bools, Floats, Ints

__all__ = ["DeviceStatistics", "device_blocks"]


class DeviceStatistics(NamedTuple):
    """What users computed on the device, in float64; private.

    phi, e, s and k as in :mod:`discreet.privacy.gaussian.energy_scaled`; ``sums`` has three numbers a user: over their
    pairs, of ``e^2``, ``(c e)^2`` and ``c^2``.
    """

    csr: gpu.Csr
    features: torch.Tensor
    residuals: torch.Tensor
    sums: torch.Tensor
    companions: torch.Tensor
    moment_counts: torch.Tensor


def device_blocks(mechanism: EnergyScaledSums, users: DeviceStatistics) -> list[Block]:
    """Scale and truncate, as :meth:`EnergyScaledSums.blocks` does.

    Notes
    -----
    **Privacy**. Everything before truncation is elementwise or a kernel that works on one user at a time.
    """
    units, csr, device = mechanism.units, users.csr, users.features.device
    squares = gpu.square_norms(users.features)
    usable = squares + users.companions * users.companions + users.sums[:, 0] < 1e60
    features = torch.where(usable[:, None], users.features, 0.0)
    companions = torch.where(usable, users.companions, 0.0)
    norms = torch.sqrt(torch.where(usable, squares, 0.0))
    square_weights = users.sums[:, 2].contiguous()
    moment_norms = users.moment_counts * (norms * norms + companions * companions)
    energy = norms * norms * torch.where(usable, users.sums[:, 1], 0.0)
    energy = energy + square_weights / units.weight**2
    moment_parts = moment_norms / units.moment
    energy = energy + moment_parts * moment_parts
    energy = torch.clamp(energy, min=units.least_energy)
    active = (csr.counts > 0) & (energy > 0)
    omega = torch.where(active, MARGIN / torch.sqrt(torch.where(active, energy, 1.0)), 0.0)
    floor = float(mechanism.item_weights.min())
    weights = torch.as_tensor(mechanism.item_weights, dtype=torch.float64).to(device)
    stretch = torch.where(norms > 0, FEATURE / torch.where(norms > 0, norms, 1.0), 0.0)
    owners, per_user = csr.owners, omega * norms * (TARGET * floor)
    targets = _short(torch.where(usable[owners], users.residuals, 0.0) * per_user[owners])
    rows = torch.cat([features, companions[:, None]], 1)
    forms = {form.name: form for form in mechanism.empty()}
    return [
        _Gradient(forms["gradient"], csr, weights, floor, _grid(features, stretch), targets),
        _Weight(forms["weight"], csr, weights, floor, _whole(omega / units.weight * (WEIGHT * floor))),
        _Moment(
            forms["moment"], _grid(rows, torch.sqrt(omega * users.moment_counts / units.moment) * FEATURE)
        ),
    ]


def _grid(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Truncate toward zero, which never raises a norm; one scale per row."""
    return _short(values * scale[:, None])


def _short(values: torch.Tensor) -> torch.Tensor:
    return torch.trunc(values).to(torch.int16)


def _whole(values: torch.Tensor) -> torch.Tensor:
    return torch.trunc(values).to(torch.int32)


def _square_norms(features: torch.Tensor) -> torch.Tensor:
    """Exact: sums of squares of int16 stay below 2^53."""
    rows = features.to(torch.float64)
    return (rows * rows).sum(1)


def _silenced(values: torch.Tensor, users: Bools) -> torch.Tensor:
    kept = values.clone()
    kept[torch.as_tensor(users).to(values.device)] = 0
    return kept


def _host(values: torch.Tensor) -> Floats:
    array: Floats = values.to(torch.float64).cpu().numpy()
    return array


def _integers(values: torch.Tensor) -> Ints:
    array: Ints = values.to(torch.int64).cpu().numpy()
    return array


def _rows(values: torch.Tensor, rows: Ints) -> Any:
    """Some rows, on the host."""
    return torch.index_select(values, 0, torch.as_tensor(rows, device=values.device)).cpu().numpy()


@dataclass(frozen=True, eq=False)
class _OnDevice:
    """A block of the CPU without users says its name, unit and noise; the users are on the device."""

    form: Any

    @property
    def name(self) -> str:
        return str(self.form.name)

    @property
    def unit(self) -> float:
        return float(self.form.unit)

    def parts(self) -> Sequence[Self]:
        """One: the engine never puts more users on a device than one exact sum holds."""
        return [self]

    def sigmas(self, mu: float) -> Floats:
        scales: Floats = self.form.sigmas(mu)
        return scales

    def noise(self, source: Noise, mu: float) -> Floats:
        drawn: Floats = self.form.noise(source, mu)
        return drawn


@dataclass(frozen=True, eq=False)
class _ByItem(_OnDevice):
    csr: gpu.Csr
    weights: torch.Tensor
    floor: float

    @property
    def n_users(self) -> int:
        return self.csr.n_users

    def _entries(self, users: Ints) -> tuple[Pattern, Ints]:
        """The pairs of some users, and where they are."""
        starts, stops = _rows(self.csr.indptr, users), _rows(self.csr.indptr, users + 1)
        indptr = np.concatenate([[0], np.cumsum(stops - starts)])
        entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], stops - starts)
        return Pattern(indptr, _rows(self.csr.items, entries), self.csr.n_items), entries

    def _pairs(self) -> torch.Tensor:
        """c_j / unit of each pair, divided before anything is squared."""
        return torch.index_select(self.weights / self.unit, 0, self.csr.items)

    def _weight_sums(self) -> torch.Tensor:
        """Sum of their squares over each user's pairs."""
        pairs = self._pairs()
        return gpu.user_sums(self.csr, pairs * pairs)


@dataclass(frozen=True, eq=False)
class _Gradient(_ByItem):
    features: torch.Tensor
    targets: torch.Tensor

    def energies(self) -> Floats:
        weighted = self._pairs() * self.targets.to(torch.float64)
        return _host(_square_norms(self.features) * gpu.user_sums(self.csr, weighted * weighted))

    def chosen(self, users: Ints) -> Block:
        """Some users' part, as a block of the CPU."""
        pattern, entries = self._entries(users)
        features, targets = _rows(self.features, users), _rows(self.targets, entries)
        block: Block = replace(self.form, pattern=pattern, features=features, targets=targets)
        return block

    def without(self, users: Bools) -> _Gradient:
        return replace(self, features=_silenced(self.features, users))

    def total(self) -> Ints:
        return _integers(gpu.item_sums(self.csr, self.features, self.targets))


@dataclass(frozen=True, eq=False)
class _Weight(_ByItem):
    omega: torch.Tensor

    def energies(self) -> Floats:
        whole = self.omega.to(torch.float64)
        return _host(whole * whole * self._weight_sums())

    def chosen(self, users: Ints) -> Block:
        """Some users' part, as a block of the CPU."""
        block: Block = replace(self.form, pattern=self._entries(users)[0], weights=_rows(self.omega, users))
        return block

    def without(self, users: Bools) -> _Weight:
        return replace(self, omega=_silenced(self.omega, users))

    def total(self) -> Ints:
        return _integers(gpu.item_weights(self.csr, self.omega))


@dataclass(frozen=True, eq=False)
class _Moment(_OnDevice):
    rows: torch.Tensor

    @property
    def n_users(self) -> int:
        return len(self.rows)

    def chosen(self, users: Ints) -> Block:
        """Some users' part, as a block of the CPU."""
        block: Block = replace(self.form, features=_rows(self.rows, users))
        return block

    def energies(self) -> Floats:
        share = _square_norms(self.rows) / self.unit
        return _host(share * share)

    def without(self, users: Bools) -> _Moment:
        return replace(self, rows=_silenced(self.rows, users))

    def total(self) -> Floats:
        return _host(gpu.user_moment(self.rows))
