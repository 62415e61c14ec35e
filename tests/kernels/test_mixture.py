"""A mixture over sizes: as in NumPy, and the same on any number of threads."""

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference


def case(n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    sizes = np.concatenate([[0.0], np.geomspace(0.01, 300.0, 20)])
    width = np.square(0.2 * sizes)
    true = rng.choice(sizes, n)
    variance = rng.uniform(0.01, 2.0, n)
    return true + np.sqrt(variance) * rng.standard_normal(n), variance, sizes, width


@pytest.mark.parametrize("n", [1, 511, 513, 6_000])
def test_agrees_with_numpy_on_any_number_of_threads(n: int) -> None:
    given = case(n)
    counts = np.random.default_rng(0).uniform(1.0, 4.0, n)
    outcomes = []
    for number in (1, 4):
        with kernels.threads(number):
            likely = kernels.size_likelihoods(*given)
            share = kernels.mixture_shares(likely, counts, 30)
            outcomes.append((likely, share, kernels.expected_sizes(*given, share)))
    wanted = reference.size_likelihoods(*given)
    shares = reference.mixture_shares(wanted, counts, 30)
    np.testing.assert_allclose(outcomes[0][0], wanted, rtol=1e-9)
    np.testing.assert_allclose(outcomes[0][1], shares, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(
        outcomes[0][2], reference.expected_sizes(*given, shares), rtol=1e-7, atol=1e-12
    )
    for one, two in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(one, two)


def test_shares_add_up_and_find_what_there_is() -> None:
    values, variance, sizes, width = case(20_000)
    likely = kernels.size_likelihoods(values, variance, sizes, width)
    share = kernels.mixture_shares(likely, np.ones(len(values)), 60)
    assert share.sum() == pytest.approx(1.0, abs=1e-12)
    large = sizes > 5.0  # sizes that the noise cannot confuse with others far away
    assert share[large].sum() == pytest.approx(large.mean(), abs=0.02)


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="counts"):
        kernels.mixture_shares(np.ones((3, 2)), np.ones(2), 1)
    with pytest.raises(ValueError, match="variance"):
        kernels.size_likelihoods(np.ones(3), np.ones(2), np.ones(2), np.ones(2))
