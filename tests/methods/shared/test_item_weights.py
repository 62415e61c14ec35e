"""Item weights gathered over several noisy releases."""

import numpy as np

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


def test_what_the_noise_drowned_stays_positive() -> None:
    drowned = ItemWeights.first(np.array([-100.0, -3.0, 0.0, 50.0]), np.full(4, 10.0))
    assert (drowned.positive() > 0).all()
    assert drowned.positive()[3] == 50.0
    hopeless = ItemWeights.first(np.full(4, -100.0), np.full(4, 10.0))
    assert hopeless.total > 0
    assert np.isfinite(hopeless.scaled(np.full(4, -5.0))[1]).all()
