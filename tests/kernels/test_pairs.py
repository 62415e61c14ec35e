"""Inner products of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows


@pytest.mark.parametrize("d", [0, 1, 5, 33])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_residuals_and_pairs_agree_with_numpy(d, kind):
    rng = np.random.default_rng(d)
    indptr, items = sparse_rows(rng, rng.integers(0, 80, 60), 90)
    left, right = rng.standard_normal((60, d)).astype(kind), rng.standard_normal((90, d)).astype(kind)
    targets = rng.standard_normal(len(items))
    found = kernels.residuals(indptr, items, targets, left, right)
    np.testing.assert_allclose(found, reference.residuals(indptr, items, targets, left, right), atol=1e-12)
    rows, cols = rng.integers(0, 60, 5000), rng.integers(0, 90, 5000)
    found = kernels.dot_pairs(rows, cols, left, right)
    np.testing.assert_allclose(found, reference.dot_pairs(rows, cols, left, right), atol=1e-12)


def test_threads_change_nothing():
    rng = np.random.default_rng(5)
    rows, cols = rng.integers(0, 60, 30_000), rng.integers(0, 90, 30_000)
    left, right = rng.standard_normal((60, 21)), rng.standard_normal((90, 21))
    results = set()
    for k in (1, 2, 3):
        with kernels.threads(k):
            results.add(kernels.dot_pairs(rows, cols, left, right).tobytes())
    assert len(results) == 1


def test_pairs_outside_are_refused():
    one = np.ones((2, 1))
    with pytest.raises(IndexError):
        kernels.dot_pairs(np.array([2]), np.array([0]), one, one)
    with pytest.raises(IndexError):
        kernels.residuals(np.array([0, 1, 1]), np.array([2]), np.ones(1), one, one)
    with pytest.raises(ValueError, match="coefficients"):
        kernels.residuals(np.array([0, 1]), np.array([1]), np.ones(1), one, one)
