"""Frank-Wolfe steps of sparse rows: right, inside the bound, and each row on its own."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows


def world(rng, n=300, m=80, scale=1.0):
    """Empty, short and full rows."""
    lengths = rng.integers(0, m + 1, n)
    lengths[:3] = 0, 1, m
    indptr, items = sparse_rows(rng, lengths, m)
    direction = rng.standard_normal(m)
    targets, fit = scale * rng.standard_normal((2, len(items)))
    return indptr, items, targets, fit, direction / np.linalg.norm(direction)


@pytest.mark.parametrize(
    ("gain", "decay", "bound"), [(3.0, 0.9, 4.0), (0.0, 1.0, 1e9), (50.0, 0.5, 2.0), (1.0, 0.0, 0.1)]
)
def test_agrees_with_numpy(gain, decay, bound):
    rows = world(np.random.default_rng(0))
    found = kernels.frank_wolfe_step(*rows, gain, decay, bound)
    for got, wanted in zip(found, reference.frank_wolfe_step(*rows, gain, decay, bound), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)


def test_both_bounds_are_at_work_and_hold():
    """Errors are clipped before they move a row, and the row is brought back inside afterwards."""
    indptr, items, targets, fit, direction = world(np.random.default_rng(1), scale=10.0)
    moved, weights, shrinks = kernels.frank_wolfe_step(indptr, items, targets, fit, direction, 2.0, 0.9, 3.0)
    norms = np.sqrt(np.add.reduceat(np.append(moved, 0.0) ** 2, indptr[:-1]) * (np.diff(indptr) > 0))
    assert norms.max() <= 3.0 * (1 + 1e-12)
    assert (shrinks < 1.0).mean() > 0.9
    assert np.abs(weights).max() <= 2.0 * 3.0 * (1 + 1e-12)
    free, _, _ = kernels.frank_wolfe_step(indptr, items, targets, fit, direction, 2.0, 0.9, 1e9)
    assert np.abs(free).max() > 3.0


def test_an_empty_row_stays_where_it_is():
    indptr, items = np.array([0, 0, 2, 2]), np.array([0, 1], np.int32)
    ones = np.ones(2)
    moved, weights, shrinks = kernels.frank_wolfe_step(indptr, items, ones, 0 * ones, ones, 1.0, 1.0, 10.0)
    assert weights.tolist() == [0.0, 2.0, 0.0]
    assert shrinks.tolist() == [1.0, 1.0, 1.0]
    assert moved.tolist() == [2.0, 2.0]


def test_a_row_does_not_depend_on_the_others_or_on_threads():
    rng = np.random.default_rng(2)
    indptr, items, targets, fit, direction = world(rng, n=4_000)
    whole = kernels.frank_wolfe_step(indptr, items, targets, fit, direction, 3.0, 0.9, 4.0)
    for k in (1, 3):
        with kernels.threads(k):
            again = kernels.frank_wolfe_step(indptr, items, targets, fit, direction, 3.0, 0.9, 4.0)
        for one, other in zip(whole, again, strict=True):
            np.testing.assert_array_equal(one, other)
    for row in (0, 1, 2, 7, 1_234, 3_999):
        part = slice(indptr[row], indptr[row + 1])
        own = kernels.frank_wolfe_step(
            np.array([0, part.stop - part.start]),
            items[part],
            targets[part],
            fit[part],
            direction,
            3.0,
            0.9,
            4.0,
        )
        np.testing.assert_array_equal(own[0], whole[0][part])
        assert (own[1][0], own[2][0]) == (whole[1][row], whole[2][row])


def test_foreign_items_and_arrays_that_do_not_fit_are_refused():
    indptr, one = np.array([0, 1]), np.ones(1)
    with pytest.raises(IndexError):
        kernels.frank_wolfe_step(indptr, np.array([1]), one, one, one, 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="targets"):
        kernels.frank_wolfe_step(indptr, np.array([0]), np.ones(2), one, one, 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="fit"):
        kernels.frank_wolfe_step(indptr, np.array([0]), one, np.ones(2), one, 1.0, 1.0, 1.0)
