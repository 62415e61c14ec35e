"""Clipped contributions: no user, however made, moves a release by more than was charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest

from discreet.errors import SettingsInvalid
from discreet.privacy import Budget, Gate, Ledger
from discreet.privacy.gaussian import clipped
from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.pattern import Pattern
from tests.privacy.worlds import Floats, Scales, distance

BUDGET = Budget(50.0, 1e-6)
Release = Callable[[Gate, Pattern, Floats, Floats], object]


class Kept(Gate):
    """A gate that remembers what it let out and what it charged."""

    def release(self, name: str, blocks: list[Block], *, mu: float, delta: float = 0.0) -> dict[str, Floats]:
        released = super().release(name, blocks, mu=mu, delta=delta)
        self.kept, self.mu = [array.copy() for array in released.values()], mu
        return released


def hostile(
    seed: int, most: int, m: int = 12, rank: int = 3
) -> tuple[list[np.ndarray], list[Floats], Floats]:
    """Users at the bound, beyond it, with nothing, with what is no number; at most `most` items each."""
    rng = np.random.default_rng(seed)
    counts = [most, most, 1, 0, most, most, *rng.integers(1, most + 1, 6)]
    items = [np.sort(rng.choice(m, count, replace=False)) for count in counts]
    values = [rng.uniform(-1, 1, count) for count in counts]
    values[0][:] = 1.0
    values[1][:] = -1e30
    values[4][:] = np.nan
    values[5][:] = [np.inf, *([-np.inf] * (most - 1))]
    rows = rng.standard_normal((len(counts), rank))
    rows[0] = [1.0, 0.0, 0.0]
    rows[1] = 1e200
    rows[2] = [np.nan, 1.0, np.inf]
    rows[5] = [0.0, 1e-300, 0.0]
    return items, values, rows


def exact(
    release: Release, items: list[np.ndarray], values: list[Floats], rows: Floats, m: int
) -> tuple[list[Floats], list[Floats], float]:
    noise = Scales()
    gate = Kept(Ledger(BUDGET), noise)
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in items])])
    pattern = Pattern(indptr, np.concatenate([np.empty(0, np.int32), *items]).astype(np.int32), m)
    with mock.patch.object(gate_module, "_RESOLUTION", 2.0**200):
        release(gate, pattern, np.concatenate([np.empty(0), *values]), rows)
    return gate.kept, noise.drawn, gate.mu


def moves(release: Release, seed: int, most: int) -> list[float]:
    m = 12
    items, values, rows = hostile(seed, most, m)
    full, sigmas, mu = exact(release, items, values, rows, m)
    changes = []
    for user in range(len(items)):
        rest = [k for k in range(len(items)) if k != user]
        less, _, _ = exact(release, [items[k] for k in rest], [values[k] for k in rest], rows[rest], m)
        changes.append(distance(full, less, sigmas, mu))
    return changes


RELEASES: dict[str, Release] = {
    "counts": lambda g, p, x, u: clipped.release_counts(g, "counts", p, 6, mu=0.3),
    "mean": lambda g, p, x, u: clipped.release_mean(g, "mean", p, x, 6, mu=0.3),
    "item sums": lambda g, p, x, u: clipped.release_item_sums(g, "sums", p, x, 6, mu=0.3),
    "equations": lambda g, p, x, u: clipped.release_normal_equations(
        g, "round", p, u, x, 6, sigma_matrix=9.0, sigma_vector=4.0
    ),
    "equations with gravity": lambda g, p, x, u: clipped.release_normal_equations(
        g, "round", p, u, x, 6, sigma_matrix=9.0, sigma_vector=4.0, sigma_moment=2.0
    ),
    "weighted equations": lambda g, p, x, u: clipped.release_normal_equations(
        g,
        "round",
        p,
        u,
        x,
        6,
        sigma_matrix=9.0,
        sigma_vector=4.0,
        item_weights=np.linspace(0.2, 3.0, 12),
        fill=True,
    ),
    "weighted equations, light users left light": lambda g, p, x, u: clipped.release_normal_equations(
        g, "round", p, u, x, 6, sigma_matrix=9.0, sigma_vector=4.0, item_weights=np.linspace(0.2, 3.0, 12)
    ),
    "co-moment": lambda g, p, x, u: clipped.release_co_moment(g, "rows", p, 10.0 * x, mu=0.3),
    "products": lambda g, p, x, u: clipped.release_products(
        g, "product", p, 10.0 * x, np.full(12, 1.0 / math.sqrt(12.0)), mu=0.3
    ),
}


@pytest.mark.parametrize("name", list(RELEASES))
def test_no_user_moves_a_release_by_more_than_was_charged(name: str) -> None:
    changes = [change for seed in range(20) for change in moves(RELEASES[name], seed, 6)]
    assert max(changes) <= 1.0 + 1e-9
    reached = 0.7 if name == "products" else 0.99  # the direction is nobody's own
    assert max(changes) >= reached


def test_a_product_along_a_users_own_row_reaches_the_bound() -> None:
    def release(gate: Gate, pattern: Pattern, values: Floats, rows: Floats) -> object:
        direction = np.zeros(12)
        direction[3] = 1.0
        return clipped.release_products(gate, "product", pattern, values, direction, mu=0.3)

    items, values = [np.array([3]), np.array([1, 3])], [np.array([-7.0]), np.array([1.0, 1.0])]
    full, sigmas, mu = exact(release, items, values, np.zeros((2, 1)), 12)
    less, _, _ = exact(release, items[1:], values[1:], np.zeros((1, 1)), 12)
    assert distance(full, less, sigmas, mu) == pytest.approx(1.0, abs=1e-3)


def test_a_round_costs_what_the_note_says() -> None:
    def cost(**sigmas: float) -> float:
        items, values, rows = hostile(0, 6)
        release = lambda g, p, x, u: clipped.release_normal_equations(g, "round", p, u, x, 6, **sigmas)  # noqa: E731
        return exact(release, items, values, rows, 12)[2]

    assert cost(sigma_matrix=9.0, sigma_vector=4.0) ** 2 == pytest.approx(6 / 81 + 6 / 16)
    assert cost(sigma_matrix=9.0, sigma_vector=4.0, sigma_moment=2.0) ** 2 == pytest.approx(
        6 / 81 + 6 / 16 + 1 / 4
    )


def test_noise_has_the_scale_that_was_asked_for() -> None:
    """In real units: sigma_matrix on the diagonal, sigma_vector, sigma_moment; divided by an item's weight."""
    pattern = Pattern(np.zeros(2, np.int64), np.zeros(0, np.int32), 4000)
    weights = np.where(np.arange(4000) < 2000, 1.0, 0.25)
    gate = Gate(Ledger(BUDGET))
    noisy = clipped.release_normal_equations(
        gate,
        "round",
        pattern,
        np.zeros((1, 2)),
        np.zeros(0),
        6,
        sigma_matrix=9.0,
        sigma_vector=4.0,
        item_weights=weights,
    )
    for half, factor in ((slice(0, 2000), 1.0), (slice(2000, None), 4.0)):
        assert noisy.matrix[half, [0, 1], [0, 1]].std() == pytest.approx(9.0 * factor, rel=0.06)
        assert noisy.matrix[half, 0, 1].std() == pytest.approx(9.0 * factor / math.sqrt(2.0), rel=0.08)
        assert noisy.vector[half].std() == pytest.approx(4.0 * factor, rel=0.06)


def test_sums_are_right_when_nothing_is_clipped() -> None:
    rng = np.random.default_rng(0)
    items = [np.sort(rng.choice(12, 5, replace=False)) for _ in range(200)]
    values = [rng.uniform(-1, 1, 5) for _ in range(200)]
    rows = rng.standard_normal((200, 3)) * 0.2
    indptr, flat = np.arange(0, 1001, 5), np.concatenate(items).astype(np.int32)
    pattern, x = Pattern(indptr, flat, 12), np.concatenate(values)
    owner = np.repeat(np.arange(200), 5)
    matrix, vector = np.zeros((12, 3, 3)), np.zeros((12, 3))
    np.add.at(matrix, flat, rows[owner][:, :, None] * rows[owner][:, None, :])
    np.add.at(vector, flat, x[:, None] * rows[owner])
    with mock.patch.object(gate_module, "_RESOLUTION", 2.0**200):
        gate = Gate(Ledger(BUDGET), Scales())
        equations = clipped.release_normal_equations(
            gate, "round", pattern, rows, x, 5, sigma_matrix=9.0, sigma_vector=4.0, sigma_moment=2.0
        )
        sums, counts = clipped.release_item_sums(gate, "sums", pattern, x, 5, mu=0.1)
        mean = clipped.release_mean(gate, "mean", pattern, x, 5, mu=0.1)
        moment = clipped.release_co_moment(gate, "rows", pattern, x / 5.0, mu=0.1)
        number = clipped.release_counts(gate, "counts", pattern, 5, mu=0.1)
    dense = np.zeros((200, 12))
    dense[owner, flat] = x / 5.0
    np.testing.assert_allclose(equations.matrix, matrix, atol=2e-3)
    np.testing.assert_allclose(equations.vector, vector, atol=5e-3)
    assert equations.moment is not None
    np.testing.assert_allclose(equations.moment, rows.T @ rows, atol=3e-3)
    np.testing.assert_allclose(sums, np.bincount(flat, x, 12), atol=5e-3)
    np.testing.assert_allclose(counts, np.bincount(flat, minlength=12), rtol=1e-6)
    np.testing.assert_allclose(number, np.bincount(flat, minlength=12), rtol=1e-6)
    np.testing.assert_allclose(moment, dense.T @ dense, atol=3e-3)
    assert mean == pytest.approx(x.mean(), abs=1e-4)


@pytest.mark.parametrize("name", ["counts", "mean", "item sums"])
def test_a_pattern_beyond_the_bound_is_refused_and_nothing_is_charged(name: str) -> None:
    gate = Gate(Ledger(BUDGET))
    pattern = Pattern(np.array([0, 7]), np.arange(7, dtype=np.int32), 12)
    with pytest.raises(SettingsInvalid, match="more than 6"):
        RELEASES[name](gate, pattern, np.ones(7), np.ones((1, 3)))
    assert gate.ledger.charges == ()


def test_a_direction_beyond_length_one_is_refused() -> None:
    pattern = Pattern(np.array([0, 1]), np.zeros(1, np.int32), 2)
    gate = Gate(Ledger(BUDGET))
    with pytest.raises(SettingsInvalid, match="above 1"):
        clipped.release_products(gate, "product", pattern, np.ones(1), np.array([1.0, 0.5]), mu=0.1)
    assert gate.ledger.charges == ()


def test_clipping_takes_the_smaller_factor() -> None:
    """The paper prints max, which blows short rows up and lets long ones through."""
    rows = clipped.clip_rows(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [np.inf, 1.0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0], [0.0, 0.0]])
