"""Item weights gathered over several noisy releases."""

import numpy as np
import pytest

from discreet.methods.shared.public.item_weights import ItemWeights


def test_more_releases_mean_less_noise_even_at_other_scales() -> None:
    rng = np.random.default_rng(0)
    truth = np.exp(rng.uniform(0, 6, 2_000))
    sigma = np.full(2_000, 30.0)
    first = ItemWeights.first(truth + sigma * rng.standard_normal(2_000), sigma)
    gathered = first
    for scale in (2.0, 0.5, 3.0):
        gathered = gathered.updated(scale * truth + sigma * rng.standard_normal(2_000), sigma)
    assert np.std(gathered.estimate - truth) < 0.4 * np.std(first.estimate - truth)
    expected = 30.0 / np.sqrt(1 + 4 + 0.25 + 9)
    np.testing.assert_allclose(np.std(gathered.estimate - truth), expected, rtol=0.1)
    np.testing.assert_allclose(np.sqrt(gathered.variance), expected, rtol=0.05)


def market(items: int, unused: int, sigma: float, seed: int = 0) -> tuple[np.ndarray, ItemWeights]:
    rng = np.random.default_rng(seed)
    truth = np.concatenate([1_000.0 / np.arange(1, items + 1) ** 0.9, np.zeros(unused)])
    return truth, ItemWeights.first(
        truth + sigma * rng.standard_normal(len(truth)), np.full(len(truth), sigma)
    )


def test_what_the_noise_drowned_stays_positive() -> None:
    drowned = ItemWeights.first(np.array([-100.0, -3.0, 0.0, 50.0]), np.full(4, 10.0))
    assert (drowned.positive() > 0).all()
    assert (np.diff(drowned.positive()) >= 0).all()
    hopeless = ItemWeights.first(np.full(4, -100.0), np.full(4, 10.0))
    assert hopeless.total > 0
    assert np.isfinite(hopeless.scaled(np.full(4, -5.0))[1]).all()


@pytest.mark.parametrize("sigma", [1.0, 5.0, 30.0])
def test_expected_weights_are_nearer_to_the_truth_than_the_released_ones(sigma: float) -> None:
    truth, weights = market(2_000, 8_000, sigma)
    error = np.sqrt(np.mean((weights.positive() - truth) ** 2))
    cut = np.sqrt(np.mean((np.maximum(weights.estimate, 0.0) - truth) ** 2))
    assert error < 0.9 * cut
    # Nobody takes these, and together they are taken for next to nothing.
    assert weights.positive()[2_000:].sum() < 0.6 * np.maximum(weights.estimate, 0.0)[2_000:].sum()
