"""Energy scaling: whoever a user is, they move a release by the bound at most, and ordinary users by all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Pattern, total_energies
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, Units
from discreet.privacy.gaussian.gate import Gate, release
from discreet.privacy.ledger import Ledger
from tests.privacy.worlds import World, exact_release, hostile_world, ordinary_world

Ints = npt.NDArray[np.int32]
Maker = Callable[[np.random.Generator, bool], World]


def worlds(make: Maker, number: int, seed: int) -> list[World]:
    """Worlds with moment counts k and 1 in turn."""
    rng = np.random.default_rng(seed)
    return [make(rng, bool(index % 2)) for index in range(number)]


@pytest.mark.parametrize("seed", range(4))
def test_ordinary_users_move_a_release_by_the_bound(seed: int) -> None:
    """No ordinary user moves a release by more than the bound, and each of them uses it up."""
    moved = [change for world in worlds(ordinary_world, 90, 100 + seed) for change in world.neighbours()]
    assert len(moved) > 1250
    assert max(moved) <= 1.0 + 1e-9
    assert min(moved) >= 0.99


@pytest.mark.parametrize("seed", range(4))
def test_hostile_users_move_a_release_by_no_more(seed: int) -> None:
    """Made to break something."""
    moved = [change for world in worlds(hostile_world, 90, 200 + seed) for change in world.neighbours()]
    assert len(moved) > 1250
    assert max(moved) <= 1.0 + 1e-9


def test_nobody_else_moves() -> None:
    """What a user's coming changes is exactly what that user brings: to the bit, nobody else's share changes."""
    for make in (ordinary_world, hostile_world):
        for world in worlds(make, 12, 3):
            full, _ = exact_release(world.blocks())
            for user in range(world.n_users):
                less, _ = exact_release(world.without(user).blocks())
                alone, _ = exact_release(world.take([user]).blocks())
                for whole, rest, own in zip(full, less, alone, strict=True):
                    assert np.array_equal(whole - rest, own)


def test_truncation_goes_toward_zero_in_every_number() -> None:
    """Turning all signs around turns all integers around, and none of them is larger than its real value."""
    for world in worlds(ordinary_world, 20, seed=8):
        vector = world.blocks()[0]
        norms = np.linalg.norm(world.features, axis=1, keepdims=True)
        assert (np.abs(vector.features) <= np.abs(world.features / norms * 2**14) * (1 + 1e-12)).all()
        assert (np.linalg.norm(vector.features.astype(float), axis=1) <= 2**14 * (1 + 1e-12)).all()
        turned = replace(world, residuals=-world.residuals).blocks()[0]
        assert np.array_equal(turned.targets, -vector.targets)


def test_noisy_sums_read_back_in_real_units() -> None:
    """With mu large (little noise) the reading is the weighted sums of the definition."""
    rng = np.random.default_rng(11)
    n, m, d = 400, 5, 3
    pattern = Pattern(np.arange(n + 1) * m, np.tile(np.arange(m), n), m)
    features, residuals = rng.standard_normal((n, d)), rng.standard_normal(n * m)
    companions, weights = np.abs(rng.standard_normal(n)), np.array([0.5, 1.0, 1.0, 2.0, 1.5])
    units = Units(3.0, 7.0)
    gate, mechanism = Gate(Ledger(Budget(500.0, 1e-6))), EnergyScaledSums(weights, units, d)
    read = release(gate, "r", mechanism, pattern, features, residuals, companions, pattern.counts, mu=20.0)
    grid = residuals.reshape(n, m)
    squares = (features**2).sum(1)
    energy = squares * ((weights * grid) ** 2).sum(1) + (weights**2).sum() / 9.0
    energy += (m * (squares + companions**2) / 7.0) ** 2
    omega = 1.0 / np.sqrt(energy)
    extended = np.column_stack([features, companions])
    tolerance = 8.0 / 20.0
    assert np.abs(read.gradient - np.einsum("n,nm,nd->md", omega, grid, features)).max() < tolerance
    assert np.abs(read.weight - omega.sum()).max() < tolerance * units.weight
    assert (
        np.abs(read.moment - np.einsum("n,na,nb->ab", omega * m, extended, extended)).max() < tolerance * 7.0
    )
    assert read.gradient_sigma == pytest.approx(1.0 / (20.0 * weights))
    assert read.weight_sigma == pytest.approx(3.0 / (20.0 * weights))
    assert read.moment_sigma == pytest.approx(7.0 / 20.0)


# A floor under users' energy: nobody gets above norm 1, the weak stay below it, and the strong do not notice.

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
