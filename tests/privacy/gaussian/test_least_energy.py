"""A floor under users' energy: nobody gets above norm 1, the weak stay below it, and the strong do not notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.privacy.gaussian.blocks import Pattern, total_energies
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, Units
from tests.privacy.checks.neighbours import Maker, worlds
from tests.privacy.worlds import World, hostile_world, ordinary_world

FLOORS = [1e-12, 1e-3, 1.0, 1e3, 1e12]


def with_floor(world: World, floor: float) -> World:
    return replace(world, units=replace(world.units, least_energy=floor))


@pytest.mark.parametrize("make", [ordinary_world, hostile_world])
@pytest.mark.parametrize("floor", FLOORS)
def test_nobody_is_above_norm_1(make: Maker, floor: float) -> None:
    for world in worlds(make, 40, seed=17):
        for energy in (total_energies(with_floor(world, floor).blocks()), total_energies(world.blocks())):
            assert np.isfinite(energy).all()
            assert energy.max(initial=0.0) <= 1.0


@pytest.mark.parametrize("floor", [1e-3, 1e3])
@pytest.mark.parametrize("make", [ordinary_world, hostile_world])
def test_a_user_moves_a_release_by_no_more_than_the_bound(make: Maker, floor: float) -> None:
    for world in worlds(make, 6, seed=18):
        assert max(with_floor(world, floor).neighbours()) <= 1.0 + 1e-9


@pytest.mark.parametrize("residual", [0.0, 1e-300, 1e-9, 1.0, -1e9, 1e29, 1e200, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("count", [1, 3000])
def test_hand_made_users_stay_within_the_norm(residual: float, count: int) -> None:
    """One of them alone, with one item or many, and features from nothing to what no user should have."""
    pattern = Pattern(np.array([0, count]), np.arange(count, dtype=np.int32), count)
    weights = np.geomspace(0.01, 100.0, count)
    for size in (0.0, 1e-9, 1.0, 1e9, np.nan):
        for floor in FLOORS:
            mechanism = EnergyScaledSums(weights, Units(2.0, 3.0, floor), 2)
            blocks = mechanism.blocks(
                pattern, np.full((1, 2), size), np.full(count, residual), np.ones(1), np.full(1, float(count))
            )
            (energy,) = total_energies(blocks)
            assert 0.0 <= energy <= 1.0
