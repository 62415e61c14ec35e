"""One matrix for all rows: right, and each row on its own."""

import numpy as np
import pytest

from discreet import kernels


@pytest.mark.parametrize(
    ("n", "d", "width"), [(1, 1, 1), (7, 5, 3), (300, 17, 17), (2_000, 65, 33), (0, 4, 4)]
)
def test_agrees_with_numpy(n: int, d: int, width: int) -> None:
    rng = np.random.default_rng(0)
    rows, matrix = rng.standard_normal((n, d)), rng.standard_normal((width, d))
    np.testing.assert_allclose(kernels.transform_rows(rows, matrix), rows @ matrix.T, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("d", [3, 17, 33, 129])
def test_a_row_does_not_depend_on_the_others(d: int) -> None:
    rng = np.random.default_rng(1)
    rows, matrix = rng.standard_normal((500, d)), rng.standard_normal((d, d))
    whole = kernels.transform_rows(rows, matrix)
    for n in (1, 2, 3, 5, 8, 100, 499):
        np.testing.assert_array_equal(kernels.transform_rows(rows[:n], matrix), whole[:n])
    np.testing.assert_array_equal(kernels.transform_rows(rows[::-1], matrix), whole[::-1])
    with kernels.threads(2):
        np.testing.assert_array_equal(kernels.transform_rows(rows, matrix), whole)


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="matrix"):
        kernels.transform_rows(np.ones((3, 2)), np.ones((2, 3)))


@pytest.mark.parametrize("width", [1, 7, 128, 8_192, 9_000])
def test_a_rows_length_does_not_depend_on_its_neighbours(width: int) -> None:
    """With `np.einsum` a row of more than 8,192 entries is rounded differently when it is alone."""
    rows = np.random.default_rng(width).standard_normal((5, width))
    together = kernels.square_norms(rows)
    np.testing.assert_allclose(together, (rows**2).sum(axis=1), rtol=1e-13)
    for i in range(5):
        assert kernels.square_norms(rows[i : i + 1])[0] == together[i]
        assert kernels.square_norms(rows[: i + 1])[i] == together[i]
