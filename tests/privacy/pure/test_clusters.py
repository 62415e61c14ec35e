"""Releases about clusters without delta: no user moves one by more than its bound, whatever the user brings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.errors import SettingsInvalid
from discreet.privacy.bounded_rows import GRID, HALF_SIDE, BoundedRows, Clusters, RowBounds
from discreet.privacy.gaussian.cluster_sums import ClusterValues
from discreet.privacy.pure.clusters import (
    LOSS_STEPS,
    Distances,
    cluster_sizes,
    cluster_values,
    count_users,
    nearest_tables,
    top_items,
)
from discreet.privacy.pure.gate import PureGate
from tests.methods.prototypes.recording import Record, RecordingGate, change
from tests.privacy.mechanisms import MOST, M, Users, hostile_users

Ints = npt.NDArray[np.int64]
EPSILON = 1.0
K = 3
SUPPORT = np.array([[0, 2, 4, 6], [1, 3, 5, 7], [8, 9, 10, 11]])
RNG = np.random.default_rng(8)
CANDIDATES = RNG.integers(-HALF_SIDE, HALF_SIDE, (7, 3))
TABLES = [RNG.uniform(-9.0, 9.0, (K, M)) for _ in range(4)]


def numbers(users: Users) -> Ints:
    """Of clusters, from each user's own; some in none."""
    own = np.array([len(items) for items in users.items])
    return np.where(own == 2, -1, np.where(own == 4, 10**9, own % K))


def clusters(users: Users, **limits: float) -> Clusters:
    bounds = RowBounds.of((-5.0, 5.0), centre=0.0, items=MOST, **limits)
    rows = BoundedRows.of(users.pattern.indptr, users.pattern.items, 10.0 * users.flat, M, bounds)
    return Clusters(rows, numbers(users), K)


def points(users: Users) -> Ints:
    """As nobody should hand them in: up to the ends of 64 bits."""
    with np.errstate(over="ignore"):
        wild = np.clip(np.nan_to_num(users.rows) * 1e5, -(2.0**62), 2.0**62).astype(np.int64)
    wild[2 % max(len(wild), 1) :: 5] = np.iinfo(np.int64).min
    return wild


def distances(users: Users) -> Distances:
    return Distances.between(
        np.concatenate([points(users.take([k])) for k in range(len(users))]), CANDIDATES, 1.0
    )


def nearest(gate: PureGate, users: Users) -> int:
    rows = clusters(users, norm=4.0).rows
    return nearest_tables(gate, "x", rows, TABLES, loss_cap=2.0, epsilon=EPSILON)


Ask = Callable[[PureGate, Users], Any]
CASES: dict[str, tuple[Ask, float]] = {
    "users": (lambda gate, users: count_users(gate, "x", len(users), epsilon=EPSILON), 1),
    "support": (lambda gate, users: top_items(gate, "x", clusters(users), 4, epsilon=EPSILON), 1),
    "values": (lambda gate, users: cluster_values(gate, "x", clusters(users), SUPPORT, epsilon=EPSILON), 0.5),
    "few values": (
        lambda gate, users: cluster_values(gate, "x", clusters(users, total=3.0), SUPPORT, epsilon=EPSILON),
        0.9,
    ),
    "sizes": (lambda gate, users: cluster_sizes(gate, "x", clusters(users), epsilon=EPSILON), 1),
    "swap": (
        lambda gate, users: distances(users).best_swap(
            gate, "x", np.array([0, 2]), np.array([1, 3, 4, 5, 6]), epsilon=EPSILON
        ),
        1,
    ),
    "set": (
        lambda gate, users: distances(users).best_set(
            gate, "x", [np.array([0]), np.array([3, 4])], epsilon=EPSILON
        ),
        1,
    ),
    "tables": (lambda gate, users: nearest(gate, users), 0.9),
}
ONE_SIDED = ("support", "swap", "set", "tables")


def record(ask: Ask, users: Users) -> Record:
    gate = RecordingGate(EPSILON, "clusters")
    ask(gate, users)
    (only,) = gate.tape.records
    return only


@pytest.mark.parametrize("name", list(CASES))
def test_nobody_moves_a_release_by_more_than_its_bound(name: str) -> None:
    ask, reached = CASES[name]
    most = 0.0
    for seed in range(10):
        users = hostile_users(seed)
        full = record(ask, users)
        assert full.epsilon == EPSILON
        for user in range(len(users)):
            less = record(ask, users.without(user))
            assert (less.epsilon, less.bound) == (full.epsilon, full.bound)
            total, largest, rose = change(full, less)
            moved = largest if name in ONE_SIDED else total
            assert moved <= full.bound
            assert rose or name not in ONE_SIDED
            most = max(most, moved / full.bound)
    assert most >= reached


def test_bounds_are_the_least_of_what_rows_and_supports_allow() -> None:
    users = hostile_users(0)
    for support, limits, bound in (
        (SUPPORT, {}, 4 * GRID),
        # The root of a square, rounded down.
        (np.tile(np.arange(M), (K, 1)), {}, MOST * GRID - 1),
        (SUPPORT, {"total": 3.0}, int(3.0 * GRID / 5.0)),
    ):
        gate = RecordingGate(EPSILON, "clusters")
        noisy = cluster_values(gate, "x", clusters(users, **limits), support, epsilon=EPSILON)
        assert (gate.tape.records[0].bound, noisy.scale) == (bound, bound / EPSILON)


def test_who_is_in_no_cluster_is_in_no_sum() -> None:
    users = hostile_users(0)
    none = Clusters(clusters(users).rows, np.full(len(users), K), K)
    for ask in (
        lambda gate: cluster_values(gate, "x", none, SUPPORT, epsilon=EPSILON),
        lambda gate: cluster_sizes(gate, "x", none, epsilon=EPSILON),
        lambda gate: top_items(gate, "x", none, 2, epsilon=EPSILON),
    ):
        gate = RecordingGate(EPSILON, "clusters")
        ask(gate)
        assert not gate.tape.records[0].exact.any()


def test_losses_of_points_beyond_the_cube_are_those_of_its_corner() -> None:
    far = np.array([[2**62, -(2**62)], [np.iinfo(np.int64).min, 0]])
    corner = np.array([[HALF_SIDE, -HALF_SIDE], [-HALF_SIDE, 0]])
    centres = np.array([[HALF_SIDE, -HALF_SIDE], [0, 0]])
    found = Distances.between(far, centres, 8.0).steps
    assert (found == Distances.between(corner, centres, 8.0).steps).all()
    assert found.min() == 0
    assert found.max() <= LOSS_STEPS


def test_a_release_takes_rows_of_its_own_bounds_only() -> None:
    users = hostile_users(0)
    loose, tight = clusters(users), clusters(users, norm=1.0)
    with pytest.raises(SettingsInvalid, match="other bounds"):
        ClusterValues(M, K, tight.rows.bounds).blocks(loose)
    with pytest.raises(SettingsInvalid, match="other bounds"):
        ClusterValues(M, K + 1, loose.rows.bounds).blocks(loose)
