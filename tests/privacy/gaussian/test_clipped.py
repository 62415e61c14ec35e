"""Clipped contributions: what they cost, how loud they are, and that sums come out as they went in."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest

from discreet.errors import SettingsInvalid
from discreet.privacy import Budget, Gate, Ledger
from discreet.privacy.gaussian import clipped
from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.gate import release
from tests.privacy.mechanisms import CASES, Case, M, Users, equations
from tests.privacy.worlds import Scales

BUDGET = Budget(50.0, 1e-6)


def test_a_product_along_a_users_own_row_reaches_the_bound() -> None:
    users = Users(
        [np.array([3]), np.array([1, 3])], [np.array([-7.0]), np.array([1.0, 1.0])], np.zeros((2, 1))
    )
    case = Case(clipped.Products(np.eye(M)[3]), lambda p, x, u: (p, x))
    assert case.moves(users)[0] == pytest.approx(1.0, abs=1e-3)


def test_a_round_costs_what_the_note_says() -> None:
    assert equations().mu ** 2 == pytest.approx(6 / 81 + 6 / 16)
    assert equations(moment=2.0).mu ** 2 == pytest.approx(6 / 81 + 6 / 16 + 1 / 4)


def test_noise_has_the_scale_that_was_asked_for() -> None:
    """In real units: sigma_matrix on the diagonal, sigma_vector, sigma_moment; divided by an item's weight."""
    pattern = Pattern(np.zeros(2, np.int64), np.zeros(0, np.int32), 4000)
    weights = np.where(np.arange(4000) < 2000, 1.0, 0.25)
    mechanism = clipped.ItemNormalEquations(2, 6, 9.0, 4.0, None, weights)
    gate = Gate(Ledger(BUDGET))
    noisy = release(gate, "round", mechanism, pattern, np.zeros((1, 2)), np.zeros(0), mu=mechanism.mu)
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
        round_ = clipped.ItemNormalEquations(3, 5, 9.0, 4.0, 2.0, np.ones(12))
        solved = release(gate, "round", round_, pattern, rows, x, mu=round_.mu)
        sums, counts, sums_sigma = release(gate, "sums", clipped.ItemSums(12, 5), pattern, x, mu=0.1)
        mean = release(gate, "mean", clipped.MeanValue(5), pattern, x, mu=0.1)
        moment = release(gate, "rows", clipped.CoMoments(12), pattern, x / 5.0, mu=0.1)
        number = release(gate, "counts", clipped.ItemCounts(12, 5), pattern, mu=0.1)
    dense = np.zeros((200, 12))
    dense[owner, flat] = x / 5.0
    np.testing.assert_allclose(solved.matrix, matrix, atol=2e-3)
    np.testing.assert_allclose(solved.vector, vector, atol=5e-3)
    assert solved.moment is not None
    np.testing.assert_allclose(solved.moment, rows.T @ rows, atol=3e-3)
    np.testing.assert_allclose(sums, np.bincount(flat, x, 12), atol=5e-3)
    np.testing.assert_allclose(counts, np.bincount(flat, minlength=12), rtol=1e-6)
    np.testing.assert_allclose(number.counts, np.bincount(flat, minlength=12), rtol=1e-6)
    np.testing.assert_allclose(moment.matrix, dense.T @ dense, atol=3e-3)
    assert mean == pytest.approx(x.mean(), abs=1e-4)
    assert (sums_sigma, number.sigma) == pytest.approx((math.sqrt(10.0) / 0.1, math.sqrt(5.0) / 0.1))
    assert moment.mu == 0.1


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.capped])
def test_a_pattern_beyond_the_bound_is_refused_and_nothing_is_charged(name: str) -> None:
    gate, case = Gate(Ledger(BUDGET)), CASES[name]
    pattern = Pattern(np.array([0, 7]), np.arange(7, dtype=np.int32), 12)
    with pytest.raises(SettingsInvalid, match="more than 6"):
        release(gate, name, case.mechanism, *case.private(pattern, np.ones(7), np.ones((1, 3))), mu=0.3)
    assert gate.ledger.charges == ()


@pytest.mark.parametrize("direction", [[1.0, 0.5], [1.001, 0.0], [np.nan, 0.0], [np.inf, 0.0]])
def test_a_direction_beyond_length_one_is_refused(direction: list[float]) -> None:
    with pytest.raises(SettingsInvalid, match="above 1"):
        clipped.Products(np.array(direction))


def test_clipping_takes_the_smaller_factor() -> None:
    """The paper prints max, which blows short rows up and lets long ones through."""
    rows = clipped.clip_rows(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [np.inf, 1.0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0], [0.0, 0.0]])
