"""Distances to centres and projections, on integers."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.kernels import distances as kernels
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows


def test_points_agree_with_numpy():
    rng = np.random.default_rng(0)
    for n, k, d in ((40, 9, 2), (7, 1, 5), (0, 3, 1)):
        points, centres = rng.integers(-50, 50, (n, d)), rng.integers(-50, 50, (k, d))
        centres[-1] = centres[0]
        args = points, centres, 2000, 4096
        found = kernels.capped_distances(*args)
        np.testing.assert_array_equal(found, reference.capped_distances(*args))
        np.testing.assert_array_equal(
            kernels.nearest_centres(points, centres), reference.nearest_centres(points, centres)
        )
        for size in range(1, k + 1):
            chosen = rng.permutation(k)[:size]
            np.testing.assert_array_equal(
                kernels.swap_losses(found, chosen), reference.swap_losses(found, chosen)
            )


@pytest.mark.parametrize("whole", [True, False])
def test_rows_agree_with_numpy(whole):
    rng = np.random.default_rng(1)
    indptr, items = sparse_rows(rng, [0, 3, 1, 12, 7], 12)
    values, centres = rng.integers(-60, 60, len(items)), rng.integers(-60, 60, (4, 12))
    for cap in (1, 5000, 10**9):
        args = indptr, items, values, centres, cap, 4096
        found = kernels.row_distances(*args, whole=whole)
        np.testing.assert_array_equal(found, reference.row_distances(*args, whole=whole))
    matrix = rng.integers(-1000, 1000, (12, 3))
    found = kernels.project_rows(indptr, items, values, matrix)
    np.testing.assert_array_equal(found, reference.project_rows(indptr, items, values, matrix))


def test_what_would_be_read_outside_is_refused():
    points, indptr, items = np.zeros((2, 2), int), np.array([0, 1]), np.array([3])
    with pytest.raises(ValueError, match="centres"):
        kernels.capped_distances(points, np.zeros((1, 3), int), 1, 1)
    for call in (
        lambda: kernels.nearest_centres(points, np.zeros((0, 2), int)),
        lambda: kernels.swap_losses(np.zeros((2, 2), np.int16), np.zeros(0, int)),
        lambda: kernels.row_distances(indptr, items, items, np.zeros((0, 4), int), 1, 1, whole=True),
    ):
        with pytest.raises(ValueError, match="no nearest"):
            call()
    with pytest.raises(IndexError):
        kernels.swap_losses(np.zeros((2, 2), np.int16), np.array([2]))
    with pytest.raises(IndexError):
        kernels.row_distances(indptr, items, items, np.zeros((1, 3), int), 1, 1, whole=True)
    with pytest.raises(IndexError):
        kernels.project_rows(indptr, items, items, np.zeros((3, 1), int))
