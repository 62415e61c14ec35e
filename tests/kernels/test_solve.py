"""Item solves: projection first, ridge after; every way through against NumPy's eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from discreet import kernels
from tests.kernels import reference
from tests.kernels.worlds import noisy_moments


@pytest.fixture(autouse=True, scope="module")
def _calm():
    """NumPy's own threads are slower than none on matrices this small."""
    with threadpool_limits(1):
        yield


def ridges(rng, m, d):
    return {
        "same for all": np.full(d, 0.7),
        "offset free": np.where(np.arange(d) == 0, 0.0, 2.0),
        "one for each item": 0.5 + rng.random((m, d)),
    }


@pytest.mark.parametrize("d", [1, 2, 9, 33])
@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_agrees_with_eigenvectors_for_every_kind_of_ridge(d, noise):
    rng = np.random.default_rng(d)
    m = 24
    H, q = noisy_moments(rng, m, d, noise), rng.standard_normal((m, d))
    for name, ridge in ridges(rng, m, d).items():
        found, expected = kernels.solve_items(H, q, ridge), reference.solve_items(H, q, ridge)
        scale = np.abs(expected).max(axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, atol=1e-8 * max(scale.max(), 1e-300), err_msg=name)


def test_projection_comes_before_the_ridge():
    # Eigenvalues 3 and -1.9: with the ridge inside, the second would be 0.1 and blow the solution up to 10.
    H, q = np.diag([3.0, -1.9])[None], np.ones((1, 2))
    np.testing.assert_allclose(kernels.solve_items(H, q, np.full(2, 2.0)), [[0.2, 0.5]], rtol=1e-12)
    np.testing.assert_allclose(kernels.solve_items(H, q, np.array([2.0, 1.0])), [[0.2, 1.0]], rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_solution_scales_with_its_units(scale):
    rng = np.random.default_rng(0)
    H, q, ridge = noisy_moments(rng, 12, 10, 1.0), rng.standard_normal((12, 10)), np.full(10, 0.3)
    plain = kernels.solve_items(H, q, ridge)
    np.testing.assert_allclose(kernels.solve_items(H * scale, q, ridge * scale) * scale, plain, rtol=1e-9)


def test_singular_even_with_its_ridge_gives_zeros():
    H = np.stack([np.zeros((3, 3)), -np.eye(3), np.diag([1.0, 0.0, 1.0])])
    assert not kernels.solve_items(H, np.ones((3, 3)), np.zeros(3)).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_item(bad):
    rng = np.random.default_rng(1)
    H, q = noisy_moments(rng, 8, 5, 1.0), rng.standard_normal((8, 5))
    expected = kernels.solve_items(H, q, np.ones(5))
    H[5, 1, 2] = bad
    q[6, 0] = bad
    found = kernels.solve_items(H, q, np.ones(5))
    assert np.isnan(found[5:7]).all()
    np.testing.assert_array_equal(np.delete(found, [5, 6], 0), np.delete(expected, [5, 6], 0))


def test_results_do_not_depend_on_threads_or_on_other_items():
    rng = np.random.default_rng(2)
    H, q = noisy_moments(rng, 60, 20, 5.0), rng.standard_normal((60, 20))
    ridge = 1 + rng.random(20)
    results = set()
    for k in (1, 2, 3):
        with kernels.threads(k):
            results.add(kernels.solve_items(H, q, ridge).tobytes())
    reverse = kernels.solve_items(H[::-1], q[::-1], ridge)[::-1]
    assert results == {np.ascontiguousarray(reverse).tobytes()}


def test_no_items_and_wrong_shapes():
    assert kernels.solve_items(np.zeros((0, 2, 2)), np.zeros((0, 2)), np.ones(2)).shape == (0, 2)
    with pytest.raises(ValueError, match="H has shape"):
        kernels.solve_items(np.zeros((1, 2, 3)), np.zeros((1, 2)), np.ones(2))
