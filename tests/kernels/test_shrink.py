"""Shrunk rows: as in NumPy, in place, and the same on any number of threads."""

import numpy as np
import pytest

from discreet import kernels
from discreet.kernels import reference


def case(n: int, d: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [
        rng.standard_normal((n, d)),
        rng.standard_normal((n, d)),
        rng.exponential(size=d),
        rng.exponential(size=n),
        rng.exponential(size=n),
    ]


@pytest.mark.parametrize(("n", "d"), [(1, 1), (50, 7), (70_000, 3)])
@pytest.mark.parametrize("told", [True, False])
def test_agrees_with_numpy_on_any_number_of_threads(n: int, d: int, told: bool) -> None:
    rows, guess, *rest = case(n, d)
    guess = guess if told else None
    outcomes = []
    for number in (1, 4):
        shrunk = rows.copy()
        with kernels.threads(number):
            outcomes.append((kernels.shrink_rows(shrunk, guess, *rest), shrunk))
    wanted = rows.copy()
    left = reference.shrink_rows(wanted, guess, *rest)
    np.testing.assert_allclose(outcomes[0][0], left, rtol=1e-12)
    np.testing.assert_allclose(outcomes[0][1], wanted, rtol=1e-12, atol=1e-14)
    for one, two in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(one, two)


def test_without_signal_and_noise_nothing_is_believed() -> None:
    rows = np.ones((2, 2))
    left = kernels.shrink_rows(rows, None, np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.zeros(2))
    np.testing.assert_array_equal(rows, [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(left, [0.5, 0.0])


def test_rows_that_could_not_be_overwritten_are_refused() -> None:
    rest = np.ones(3), np.ones(3), np.ones(3)
    with pytest.raises(ValueError, match="contiguous"):
        kernels.shrink_rows(np.asfortranarray(np.ones((3, 3))), None, *rest)
    with pytest.raises(ValueError, match="told"):
        kernels.shrink_rows(np.ones((3, 3)), np.ones((3, 2)), *rest)
