"""Shrunk rows: as in NumPy, and the same on any number of threads."""

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference


def case(n: int, d: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [
        rng.standard_normal((n, d)),
        np.linalg.qr(rng.standard_normal((d, d)))[0],
        rng.exponential(size=d),
        rng.exponential(size=n),
        rng.exponential(size=n),
        rng.standard_normal((n, d)),
    ]


@pytest.mark.parametrize(("n", "d"), [(0, 3), (1, 1), (50, 7), (3_001, 33), (70_000, 3)])
@pytest.mark.parametrize("told", [True, False])
def test_agrees_with_numpy_on_any_number_of_threads(n: int, d: int, told: bool) -> None:
    *given, guess = case(n, d)
    guess = guess if told else None
    outcomes = []
    for number in (1, 4):
        with kernels.threads(number):
            outcomes.append(kernels.shrink_rows(*given, guess))
    for found, wanted in zip(outcomes[0], reference.shrink_rows(*given, guess), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)
    for one, two in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_row_does_not_depend_on_the_others() -> None:
    rows, basis, values, square, variance, _ = case(100, 17)
    whole, left = kernels.shrink_rows(rows, basis, values, square, variance)
    for n in (1, 3, 8, 99):
        found, remains = kernels.shrink_rows(rows[:n], basis, values, square[:n], variance[:n])
        np.testing.assert_array_equal(found, whole[:n])
        np.testing.assert_array_equal(remains, left[:n])


def test_entries_are_shrunk_between_two_products() -> None:
    """To the last bit: turning into the basis and back is `transform_rows`."""
    rows, basis, values, square, variance, told = case(300, 19)
    turned = kernels.transform_rows(rows, basis.T)
    signal = square[:, None] * values
    gain = signal / (signal + variance[:, None])
    shrunk, _ = kernels.shrink_rows(rows, basis, values, square, variance, told)
    np.testing.assert_array_equal(shrunk, kernels.transform_rows(told + gain * (turned - told), basis))


def test_without_signal_and_noise_nothing_is_believed() -> None:
    values, square = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    shrunk, left = kernels.shrink_rows(np.ones((2, 2)), np.eye(2), values, square, np.zeros(2))
    np.testing.assert_array_equal(shrunk, [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(left, [0.5, 0.0])


def test_shapes_must_fit() -> None:
    rest = np.ones(3), np.ones(4), np.ones(4)
    with pytest.raises(ValueError, match="told"):
        kernels.shrink_rows(np.ones((4, 3)), np.eye(3), *rest, np.ones((3, 3)))
    with pytest.raises(ValueError, match="basis"):
        kernels.shrink_rows(np.ones((4, 3)), np.eye(2), *rest)
