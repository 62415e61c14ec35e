"""Neighbouring data sets: what one user may change, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.private import activity
from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.ledger import Ledger
from tests.privacy.worlds import (
    BUDGET,
    MU,
    Floats,
    Scales,
    World,
    distance,
    exact_release,
    hostile_world,
    ordinary_world,
)

Maker = Callable[[np.random.Generator, bool, bool], World]


def worlds(make: Maker, number: int, seed: int) -> list[World]:
    """Worlds with and without curvature, with moment counts k and 1 in turn."""
    rng = np.random.default_rng(seed)
    return [make(rng, bool(index % 2), bool(index // 2 % 2)) for index in range(number)]


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
    """The first release moves by at most sqrt(2) grid units (1 for implicit feedback) and can move by that much."""
    rng, most, pairs = np.random.default_rng(seed), {True: 0.0, False: 0.0}, 0
    for index in range(number):
        explicit = index % 2 == 0
        ratings = _hostile_ratings(rng, explicit)
        full, sigmas = _activity(ratings)
        for user in range(ratings.n_users):
            less, _ = _activity(ratings.take_users(np.arange(ratings.n_users) != user))
            moved = distance([full], [less], [sigmas])
            assert moved <= 1.0 + 1e-9, f"a user moves the activity by {moved} times the bound"
            most[explicit], pairs = max(most[explicit], moved), pairs + 1
    assert min(most.values()) > 0.99, f"the bound is never reached: {most}"
    return pairs


def _hostile_ratings(rng: np.random.Generator, explicit: bool) -> Ratings:
    """Users with one item, all items, none; ratings at one end, at both ends, in between."""
    n, m = 14, int(rng.integers(5, 30))
    counts = rng.integers(1, m + 1, n)
    counts[:3] = m, 1, 0
    values = [rng.choice([[-3.0, -3.0], [7.5, 7.5], [-3.0, 7.5], [1.0, 4.0]], axis=0) for _ in range(n)]
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([rng.choice(m, count, replace=False) for count in counts]),
        np.concatenate([np.resize(pair, count) for pair, count in zip(values, counts, strict=True)]),
        catalogue=np.arange(m),
        rating_range=(-3.0, 7.5) if explicit else None,
    )


class Kept(Gate):
    """A gate that remembers what it let out."""

    def release(self, *args: Any, **options: Any) -> dict[str, Floats]:
        self.released = super().release(*args, **options)
        return dict(self.released)


def _activity(ratings: Ratings) -> tuple[Floats, Floats]:
    noise = Scales()
    gate = Kept(Ledger(BUDGET), noise)
    with mock.patch.object(gate_module, "_RESOLUTION", 2.0**200):
        gate.release("activity", [activity.activity_block(ratings)], mu=MU)
    return gate.released["activity"], noise.drawn[0]
