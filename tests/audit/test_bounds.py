"""Lower bounds: below the truth as often as they say, close to it, and above a claim that is too small."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet.audit.bounds import (
    best_threshold,
    clopper_pearson,
    epsilon_of_guesses,
    mu_of_means,
    mu_of_noise,
)


@pytest.mark.parametrize("mu", [0.2, 1.0, 2.0])
def test_bounds_on_mu_are_below_the_truth_as_often_as_they_say_and_close_to_it(mu: float) -> None:
    rng, risk, repeats = np.random.default_rng(1), 0.1, 1_000
    above = np.zeros(2)
    for _ in range(repeats):
        without, present = rng.standard_normal(400), mu + rng.standard_normal(400)
        means = mu_of_means(without, present, risk)
        noise = mu_of_noise(np.concatenate([without, present - mu]), mu, risk)
        above += means > mu, noise > mu
        assert means >= mu - 0.55
        assert noise >= 0.85 * mu
    # As often as the risk says, no more and not much less: a bound that is always low would find nothing.
    low, high = binom.ppf([1e-6, 1.0 - 1e-6], repeats, risk)
    assert ((above >= 0.5 * low) & (above <= high)).all(), above


def test_half_the_noise_doubles_mu() -> None:
    rng = np.random.default_rng(2)
    without, present = 0.5 * rng.standard_normal(4_000), 1.0 + 0.5 * rng.standard_normal(4_000)
    assert mu_of_means(without, present, 1e-5) == pytest.approx(2.0, rel=0.15)
    assert mu_of_noise(np.concatenate([without, present - 1.0]), 1.0, 1e-5) == pytest.approx(2.0, rel=0.06)


def test_no_noise_at_all_costs_everything() -> None:
    assert mu_of_means(np.zeros(100), np.ones(100), 1e-5) == math.inf
    assert mu_of_noise(np.zeros(200), 1.0, 1e-5) == math.inf
    assert mu_of_means(np.zeros(100), np.zeros(100), 1e-5) == 0.0
    assert mu_of_noise(np.zeros(200), 0.0, 1e-5) == 0.0


@pytest.mark.parametrize(("count", "trials"), [(0, 10), (3, 10), (10, 10), (40, 100_000)])
def test_clopper_pearson_inverts_the_binomial(count: int, trials: int) -> None:
    low, high = clopper_pearson(count, trials, 1e-3)
    assert 0.0 <= low < high <= 1.0
    if count:
        assert binom.sf(count - 1, trials, low) == pytest.approx(1e-3, rel=1e-6)
    if count < trials:
        assert binom.cdf(count, trials, high) == pytest.approx(1e-3, rel=1e-6)


def test_guesses_bound_randomised_response() -> None:
    rng, epsilon, trials = np.random.default_rng(3), 2.0, 100_000
    wrong = int(rng.binomial(trials, 1.0 / (1.0 + math.exp(epsilon))))
    bound = epsilon_of_guesses(trials - wrong, wrong, trials, 0.0, 1e-5)
    assert 0.97 * epsilon < bound <= epsilon
    assert epsilon_of_guesses(trials - wrong // 2, wrong // 2, trials, 0.0, 1e-5) > epsilon
    assert epsilon_of_guesses(trials - wrong, wrong, trials, 0.1, 1e-5) < bound
    assert epsilon_of_guesses(0, 0, trials, 0.0, 1e-5) == 0.0


def test_the_threshold_is_the_one_that_finds_most() -> None:
    mu, trials, delta, risk = 1.5, 20_000, 1e-5, 1e-5

    def expected(far: float) -> float:
        right, wrong = (round(trials * norm.sf(far - 0.5 * side)) for side in (mu, -mu))
        return epsilon_of_guesses(right, wrong, trials, delta, risk)

    far = best_threshold(mu, trials, delta, risk)
    assert expected(far) >= max(expected(other) for other in (0.0, 0.5, 1.0, 2.0, 3.0, 4.0))
    assert far > 1.0
