"""A floor under users' energy: nobody gets above norm 1, the weak stay below it, and the strong do not notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.privacy.gaussian.blocks import Block, Pattern, total_energies
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, Units
from tests.privacy.checks.neighbours import Maker, worlds
from tests.privacy.worlds import World, hostile_world, ordinary_world

FLOORS = [1e-12, 1e-3, 1.0, 1e3, 1e12]


def with_floor(world: World, floor: float) -> World:
    return replace(world, units=replace(world.units, least_energy=floor))


def energies(world: World) -> np.ndarray:
    """Each user's energy before any scaling, by the definition."""
    units, squares = world.units, np.square(world.features).sum(axis=1)
    energy = np.zeros(world.n_users)
    for user in range(world.n_users):
        entries = slice(world.indptr[user], world.indptr[user + 1])
        weights = world.item_weights[world.items[entries]]
        count = len(weights) if world.counted else 1
        energy[user] = squares[user] * np.square(weights * world.residuals[entries]).sum()
        energy[user] += np.square(weights).sum() / units.weight**2
        energy[user] += (count * (squares[user] + world.companions[user] ** 2) / units.moment) ** 2
    return energy


def integers(blocks: list[Block], user: int, entries: slice) -> list[np.ndarray]:
    """All that one user hands to the gate."""
    vector, weight, *matrices = blocks
    return [
        vector.features[user],
        vector.targets[entries],
        weight.weights[user],
        *(part.features[user] for part in matrices),
    ]


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


def test_the_weak_stay_below_the_norm_in_proportion() -> None:
    """A user's norm is the root of their energy's share in the floor."""
    seen = 0
    for world in worlds(ordinary_world, 40, seed=19):
        energy = energies(world)
        floor = float(np.median(energy))
        found = total_energies(with_floor(world, floor).blocks())
        plain = total_energies(world.blocks())
        weak = (energy < 0.9 * floor) & (energy > 0.01 * floor) & (plain > 0.999)
        np.testing.assert_allclose(found[weak], energy[weak] / floor, rtol=0.02)
        seen += int(weak.sum())
    assert seen > 100


@pytest.mark.parametrize("make", [ordinary_world, hostile_world])
def test_the_strong_are_the_same_to_the_last_bit(make: Maker) -> None:
    same, other = 0, 0
    for world in worlds(make, 40, seed=20):
        with np.errstate(all="ignore"):
            energy = energies(world)
        usable = np.isfinite(energy) & (energy < 1e50) & (energy > 0.0)
        floor = float(np.median(energy[usable]))
        floored, plain = with_floor(world, floor).blocks(), world.blocks()
        for user in np.flatnonzero(usable):
            entries = slice(world.indptr[user], world.indptr[user + 1])
            pairs = zip(integers(floored, user, entries), integers(plain, user, entries), strict=True)
            equal = all(np.array_equal(one, two) for one, two in pairs)
            if energy[user] > floor * (1 + 1e-9):
                assert equal
                same += 1
            elif energy[user] < 0.5 * floor:
                other += not equal
    assert same > 60
    assert other > 50


def test_weights_among_the_weak_are_equal() -> None:
    """Below the floor everybody has the same factor, so a sum over them is a plain sum."""
    pattern = Pattern(np.array([0, 1, 2, 3]), np.array([0, 0, 0], dtype=np.int32), 1)
    mechanism = EnergyScaledSums(np.ones(1), Units(1.0, 1.0, 1e4), 1)
    residuals = np.array([0.5, 1.0, 4.0])
    blocks = mechanism.blocks(pattern, np.ones((3, 1)), residuals, np.zeros(3), np.ones(3))
    assert len(set(blocks[1].weights.tolist())) == 1
    np.testing.assert_allclose(blocks[0].targets / blocks[0].targets[1], residuals, rtol=0.01)


def test_the_floor_does_not_change_what_is_read_or_the_noise() -> None:
    world = worlds(ordinary_world, 1, seed=21)[0]
    for plain, floored in zip(world.blocks(), with_floor(world, 7.0).blocks(), strict=True):
        assert plain.unit == floored.unit
        assert np.array_equal(plain.sigmas(1.0), floored.sigmas(1.0))
