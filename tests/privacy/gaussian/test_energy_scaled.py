"""Contributions: whoever a user is, they move a release by the bound at most, and ordinary users by all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.private.user_side import user_statistics
from discreet.methods.budgeted.public.update import Frame
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Pattern, total_energies
from discreet.privacy.gaussian.energy_scaled import RoundContribution, Units, read_round
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from tests.privacy.checks.neighbours import (
    Maker,
    check_activity,
    check_hostile_neighbours,
    check_nobody_else_moves,
    check_ordinary_neighbours,
    worlds,
)
from tests.privacy.worlds import Floats, exact_release, hostile_world, ordinary_world


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


def test_integers_use_their_range_and_stay_in_it() -> None:
    """A user with one item and little else fills the bits of the grid; nobody wraps around."""
    pattern = Pattern(np.array([0, 1]), np.array([0]), 2)
    blocks = RoundContribution.build(
        pattern,
        np.ones((1, 1)),
        np.array([1.0]),
        np.zeros(1),
        np.ones(1),
        np.array([1.0, 50.0]),
        Units(1e6, 1e6),
    ).blocks
    assert blocks[0].features.tolist() == [[2**14]]
    assert blocks[0].targets.tolist() == [2**15 - 2]
    assert blocks[0].energies()[0] == pytest.approx(1.0, abs=1e-3)


def test_users_without_ratings_contribute_nothing() -> None:
    world = next(iter(worlds(hostile_world, 1, seed=9)))
    for block in world.take([2]).blocks():
        assert not block.total().any()


def test_no_users_at_all_release_noise() -> None:
    """The neighbour of one user is nobody; it must look like any other data set."""
    world = next(iter(worlds(ordinary_world, 1, seed=10)))
    released, _ = exact_release(world.take([]).blocks())
    assert all(not part.any() for part in released)


def test_noisy_sums_read_back_in_real_units() -> None:
    """With mu large (little noise) the reading is the weighted sums of the definition."""
    rng = np.random.default_rng(11)
    n, m, d = 400, 5, 3
    pattern = Pattern(np.arange(n + 1) * m, np.tile(np.arange(m), n), m)
    features, residuals = rng.standard_normal((n, d)), rng.standard_normal(n * m)
    companions, weights = np.abs(rng.standard_normal(n)), np.array([0.5, 1.0, 1.0, 2.0, 1.5])
    units = Units(3.0, 7.0, 11.0)
    contribution = RoundContribution.build(
        pattern, features, residuals, companions, pattern.counts, weights, units
    )
    gate = Gate(Ledger(Budget(500.0, 1e-6)), Noise())
    read = read_round(units, weights, gate.release("r", contribution.blocks, mu=20.0), 20.0)
    grid = residuals.reshape(n, m)
    squares = (features**2).sum(1)
    energy = squares * ((weights * grid) ** 2).sum(1) + (weights**2).sum() / 9.0
    energy += (m * (squares + companions**2) / 7.0) ** 2 + squares**2 * (weights**2).sum() / 121.0
    omega = 1.0 / np.sqrt(energy)
    extended = np.column_stack([features, companions])
    tolerance = 8.0 / 20.0
    assert np.abs(read.gradient - np.einsum("n,nm,nd->md", omega, grid, features)).max() < tolerance
    assert np.abs(read.weight - omega.sum()).max() < tolerance * units.weight
    assert (
        np.abs(read.moment - np.einsum("n,na,nb->ab", omega * m, extended, extended)).max() < tolerance * 7.0
    )
    assert read.curvature is not None
    assert (
        np.abs(read.curvature - np.einsum("n,na,nb->ab", omega, features, features)).max() < tolerance * 22.0
    )
    assert read.gradient_sigma == pytest.approx(1.0 / (20.0 * weights))
    assert read.weight_sigma == pytest.approx(3.0 / (20.0 * weights))
    assert read.moment_sigma == pytest.approx(7.0 / 20.0)


@pytest.mark.parametrize("rank", [0, 4, 16, 32])
@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_nobody_else_moves_on_the_way_from_ratings(feedback: str, rank: int) -> None:
    """A user's features and residuals are the same to the last bit whoever else is there, hostile or not.

    A product of all users' rows with one matrix in BLAS is not enough: which of its routines a row falls to, and so
    the last bit, depends on how many rows there are. Truncation can turn a last bit into a whole step.
    """
    rng = np.random.default_rng(13)
    for n in (2, 3, 4, 8, 17):
        ratings = _ratings(rng, n, explicit=feedback == "explicit")
        side = ItemSide(
            ratings.scale,
            0.0,
            0.1 * rng.standard_normal(40),
            rng.standard_normal((40, rank)),
            Ridge() if feedback == "explicit" else Clicks(gravity=0.3),
        )
        frame = Frame(rng.standard_normal((1 + rank, 1 + rank)), 1.0, 10.0)
        full = _statistics(ratings, side, frame)
        for user in range(n):
            others = np.arange(n) != user
            less = _statistics(ratings.take_users(others), side, frame)
            pairs = np.repeat(others, np.diff(ratings.indptr))
            for whole, rest, kept in zip(full, less, (others, pairs, others), strict=True):
                assert np.array_equal(whole[kept], rest, equal_nan=True), (
                    f"user {user} of {n} changes somebody else"
                )


def _statistics(ratings: Ratings, side: ItemSide, frame: Frame) -> tuple[Floats, ...]:
    pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)
    with np.errstate(over="ignore", invalid="ignore"):
        users = user_statistics(ratings, pattern, side, frame)
    return users.features, users.residuals, users.spread


def _ratings(rng: np.random.Generator, n: int, *, explicit: bool) -> Ratings:
    """The first user, who is solved for first, has a rating so large that their vector overflows."""
    counts = rng.integers(1, 30, n)
    counts[0] = 39
    values = rng.uniform(-1.0, 1.0, int(counts.sum()))
    values[0] = 1e308
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([rng.choice(40, count, replace=False) for count in counts]),
        values,
        catalogue=np.arange(40),
        rating_range=(-1e308, 1e308) if explicit else None,
    )
