"""The lowest entries of every row, against plain NumPy."""

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference


@pytest.mark.parametrize("most", [1, 3, 50])
def test_as_the_reference_with_ties_and_strange_numbers(most: int) -> None:
    rng = np.random.default_rng(most)
    counts = rng.integers(0, 12, 4_000)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    numbers = rng.integers(0, 5, indptr[-1]).astype(np.float64)
    numbers[rng.random(len(numbers)) < 0.05] = np.nan
    numbers[rng.random(len(numbers)) < 0.05] = np.inf
    numbers[rng.random(len(numbers)) < 0.05] = -np.inf
    expected = reference.lowest_entries(
        indptr, np.nan_to_num(numbers, nan=np.inf, posinf=np.inf, neginf=-np.inf), most
    )
    for threads in (1, 2):
        with kernels.threads(threads):
            np.testing.assert_array_equal(kernels.lowest_entries(indptr, numbers, most), expected)


def test_no_row_has_more_and_shorter_rows_stay_whole() -> None:
    indptr = np.array([0, 0, 4, 6])
    kept = kernels.lowest_entries(indptr, np.array([3.0, 1.0, 2.0, 1.0, 9.0, 9.0]), 2)
    np.testing.assert_array_equal(kept, [False, True, False, True, True, True])


def test_nothing_at_all() -> None:
    assert len(kernels.lowest_entries(np.zeros(1, np.int64), np.zeros(0), 3)) == 0


def test_numbers_must_fit_the_rows() -> None:
    with pytest.raises(ValueError):
        kernels.lowest_entries(np.array([0, 3]), np.zeros(2), 1)
