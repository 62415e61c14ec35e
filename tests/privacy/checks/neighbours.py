"""Neighbouring data sets: what one user may change, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.privacy.gaussian.blocks import Block, Pattern
from discreet.privacy.gaussian.tallies import ActivitySums
from tests.privacy.worlds import (
    Floats,
    World,
    distance,
    exact_release,
    hostile_world,
    ordinary_world,
)

Ints = npt.NDArray[np.int32]
Maker = Callable[[np.random.Generator, bool], World]


def worlds(make: Maker, number: int, seed: int) -> list[World]:
    """Worlds with moment counts k and 1 in turn."""
    rng = np.random.default_rng(seed)
    return [make(rng, bool(index % 2)) for index in range(number)]


def check_ordinary_neighbours(number: int = 4, seed: int = 1) -> int:
    """No ordinary user moves a release by more than the bound, and each of them uses it up. Gives the pairs seen."""
    moved = [change for world in worlds(ordinary_world, number, seed) for change in world.neighbours()]
    assert max(moved) <= 1.0 + 1e-9, f"a user moves the release by {max(moved)} times the bound"
    assert min(moved) >= 0.99, f"a user moves the release by {min(moved)} of the bound only"
    return len(moved)


def check_hostile_neighbours(number: int = 4, seed: int = 2) -> int:
    """No user made to break something moves a release by more than the bound. Gives the pairs seen."""
    moved = [change for world in worlds(hostile_world, number, seed) for change in world.neighbours()]
    assert max(moved) <= 1.0 + 1e-9, f"a user moves the release by {max(moved)} times the bound"
    return len(moved)


def check_nobody_else_moves(number: int = 4, seed: int = 3) -> None:
    """What a user's coming changes is exactly what that user brings: to the bit, nobody else's share changes."""
    for make in (ordinary_world, hostile_world):
        for world in worlds(make, number, seed):
            full, _ = exact_release(world.blocks())
            for user in range(world.n_users):
                less, _ = exact_release(world.without(user).blocks())
                alone, _ = exact_release(world.take([user]).blocks())
                for whole, rest, own in zip(full, less, alone, strict=True):
                    assert np.array_equal(whole - rest, own)


def check_activity(number: int = 8, seed: int = 6) -> int:
    """The first release moves by at most sqrt(3) and can move by that much."""
    rng, most, pairs = np.random.default_rng(seed), 0.0, 0
    for _ in range(number):
        m = int(rng.integers(5, 30))
        mechanism = ActivitySums(m)
        rows = _hostile_activity(rng, m)
        full, sigmas = exact_release(_activity(mechanism, rows))
        for user in range(len(rows)):
            less, _ = exact_release(_activity(mechanism, rows[:user] + rows[user + 1 :]))
            alone, _ = exact_release(_activity(mechanism, rows[user : user + 1]))
            assert np.array_equal(full[0] - less[0], alone[0]), f"user {user} moves somebody else"
            moved = distance(full, less, sigmas)
            assert moved <= 1.0 + 1e-9, f"a user moves the activity by {moved} times the bound"
            most, pairs = max(most, moved), pairs + 1
    assert most > 0.99, f"the bound is never reached: {most}"
    return pairs


def _hostile_activity(rng: np.random.Generator, m: int) -> list[tuple[Ints, Floats]]:
    """Users with one item, all items, none; values at one end, at both, in between, beyond them, and no numbers."""
    counts = rng.integers(1, m + 1, 18)
    counts[:3] = m, 1, 0
    pairs = [[-1, -1], [1, 1], [-1, 1], [-0.2, 0.5], [9, 1], [1e200, -1e200], [np.nan, 1], [np.inf, -np.inf]]
    values = [pairs[user % len(pairs)] for user in rng.permutation(len(counts))]
    return [
        (
            np.sort(rng.choice(m, count, replace=False)).astype(np.int32),
            np.resize(np.asarray(pair, float), count),
        )
        for count, pair in zip(counts, values, strict=True)
    ]


def _activity(mechanism: ActivitySums, rows: list[tuple[Ints, Floats]]) -> list[Block]:
    indptr = np.concatenate([[0], np.cumsum([len(items) for items, _ in rows])]).astype(np.int64)
    items = np.concatenate([np.zeros(0, np.int32), *(items for items, _ in rows)])
    values = np.concatenate([np.zeros(0), *(values for _, values in rows)])
    return mechanism.blocks(Pattern(indptr, items, mechanism.n_items), values)
