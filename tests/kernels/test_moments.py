"""Weighted second moments: right, and the same on any number of threads."""

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference


@pytest.mark.parametrize(
    ("n", "d"), [(0, 3), (1, 1), (255, 5), (257, 17), (3_000, 33), (40_000, 9), (900, 129)]
)
def test_agrees_with_numpy_on_any_number_of_threads(n: int, d: int) -> None:
    rng = np.random.default_rng(n)
    rows, weights = rng.standard_normal((n, d)), rng.exponential(size=n)
    with kernels.threads(1):
        alone = kernels.weighted_moment(rows, weights)
    np.testing.assert_allclose(
        alone, reference.weighted_moment(rows, weights), rtol=1e-10, atol=1e-10 * max(n, 1)
    )
    np.testing.assert_array_equal(alone, alone.T)
    for number in (2, 5):
        with kernels.threads(number):
            np.testing.assert_array_equal(kernels.weighted_moment(rows, weights), alone)


def test_a_row_without_weight_does_not_count() -> None:
    rows = np.array([[1.0, 2.0], [1e200, 1e200], [3.0, -1.0]])
    np.testing.assert_allclose(
        kernels.weighted_moment(rows, np.array([2.0, 0.0, 1.0])), [[11.0, 1.0], [1.0, 9.0]], rtol=1e-14
    )


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="weights"):
        kernels.weighted_moment(np.ones((3, 2)), np.ones(2))
