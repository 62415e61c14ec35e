"""Energy scaling: whoever a user is, they move a release by the bound at most, and ordinary users by all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Pattern, total_energies
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, Units
from discreet.privacy.gaussian.gate import Gate, release
from discreet.privacy.ledger import Ledger
from tests.privacy.checks.neighbours import (
    Maker,
    check_activity,
    check_hostile_neighbours,
    check_nobody_else_moves,
    check_ordinary_neighbours,
    worlds,
)
from tests.privacy.worlds import hostile_world, ordinary_world


@pytest.mark.parametrize("seed", range(4))
def test_ordinary_users_move_a_release_by_the_bound(seed: int) -> None:
    assert check_ordinary_neighbours(number=90, seed=100 + seed) > 1250


@pytest.mark.parametrize("seed", range(4))
def test_hostile_users_move_a_release_by_no_more(seed: int) -> None:
    assert check_hostile_neighbours(number=90, seed=200 + seed) > 1250


def test_users_of_the_first_release_move_it_by_no_more() -> None:
    assert check_activity(number=40) >= 500


def test_nobody_else_moves() -> None:
    check_nobody_else_moves(number=12)


@pytest.mark.parametrize("make", [ordinary_world, hostile_world])
def test_the_gate_need_not_silence_anybody(make: Maker) -> None:
    """The scaling alone keeps within 1; the gate's own check is there for code that has a mistake in it."""
    for world in worlds(make, 100, seed=7):
        assert total_energies(world.blocks()).max() <= 1.0


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
