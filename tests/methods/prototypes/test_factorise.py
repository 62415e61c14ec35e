"""Non-negative least squares and factorisation: against scipy, and on what is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from discreet.kernels.nonnegative import solve_nonnegative
from discreet.methods.prototypes.public.server import Entries, nonnegative_factors
from discreet.methods.prototypes.settings import FactorSettings


@pytest.mark.parametrize("share", [0.2, 0.9, 1.0])
def test_every_row_is_its_own_least_squares(share: float) -> None:
    rng = np.random.default_rng(0)
    factors = rng.gamma(1.0, size=(30, 4))
    dense = rng.normal(1.0, 2.0, (25, 30))
    mask = rng.random(dense.shape) < share
    mask[3] = False
    entries = Entries.of_dense(dense, mask)
    penalty = rng.uniform(0.1, 2.0, 25)
    start = rng.random((25, 4))
    found = solve_nonnegative(entries.indptr, entries.items, entries.values, factors, penalty)
    again = solve_nonnegative(entries.indptr, entries.items, entries.values, factors, penalty, start)
    for row in range(25):
        left = np.vstack([factors[mask[row]], np.sqrt(penalty[row]) * np.eye(4)])
        best, _ = nnls(left, np.concatenate([dense[row, mask[row]], np.zeros(4)]))
        assert np.allclose(found[row], best, atol=1e-4)
        assert np.allclose(again[row], best, atol=1e-4)


def test_missing_is_missing_and_not_zero() -> None:
    rng = np.random.default_rng(1)
    truth = rng.gamma(1.0, size=(60, 3)) @ rng.gamma(1.0, size=(3, 20))
    mask = rng.random(truth.shape) < 0.6
    settings = FactorSettings(rank=3, rounds=200, penalty=1e-3)
    factors = nonnegative_factors(Entries.of_dense(truth, mask), settings, 0)
    assert (factors >= 0.0).all()
    entries = Entries.of_dense(truth, mask)
    sides = solve_nonnegative(entries.indptr, entries.items, entries.values, factors, np.full(60, 1e-3))
    hidden = (sides @ factors.T - truth)[~mask]
    assert np.sqrt(np.mean(hidden**2)) < 0.15 * truth.std()
