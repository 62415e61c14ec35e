"""Symmetric integer matrices from triangles of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference


@pytest.mark.parametrize(("count", "order"), [(1, 1), (5, 3), (400, 60), (1, 1_100), (0, 4), (3, 0)])
def test_agrees_with_numpy_and_with_any_threads(count: int, order: int) -> None:
    rng = np.random.default_rng(count)
    values = rng.standard_normal((count, order * (order + 1) // 2))
    sigma = rng.uniform(1e3, 1e6, count)
    wanted = reference.symmetric_integers(values, sigma, order)
    for threads in (1, 2):
        with kernels.threads(threads):
            found = kernels.symmetric_integers(values, sigma, order)
        np.testing.assert_array_equal(found, found.transpose(0, 2, 1))
        # A product of three may be rounded in either order, which can turn a half into the next integer.
        assert np.abs(found - wanted).max(initial=0.0) <= 1.0
        assert (found == wanted).sum() >= 0.999 * found.size


def test_triangles_of_another_order_are_refused() -> None:
    with pytest.raises(ValueError, match="triangles of order 3"):
        kernels.symmetric_integers(np.zeros((2, 7)), np.ones(2), 3)
