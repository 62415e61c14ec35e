"""Empirical Bayes on released numbers: right size, right direction, and never a blow-up."""

import numpy as np
import pytest

from discreet.methods.shared.public.shrinkage import (
    denoise,
    regress_offsets,
    shrink_to_identity,
    signal_covariance,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def noisy(rng: np.random.Generator, items: int, truth: np.ndarray, sigma: float) -> tuple[np.ndarray, ...]:
    weight = rng.uniform(20, 200, items)
    signal = weight[:, None] * rng.multivariate_normal(np.zeros(len(truth)), truth, items)
    return signal, weight, np.full(items, sigma**2), signal + sigma * rng.standard_normal(signal.shape)


def test_signal_covariance_is_found_under_the_noise(rng: np.random.Generator) -> None:
    truth = np.array([[0.5, 0.2, 0.0], [0.2, 0.3, 0.0], [0.0, 0.0, 0.0]])
    _, weight, variance, seen = noisy(rng, 20_000, truth, 60.0)
    np.testing.assert_allclose(signal_covariance(seen, weight, variance), truth, atol=0.03)


def test_denoising_beats_both_trust_and_distrust(rng: np.random.Generator) -> None:
    signal, weight, variance, seen = noisy(rng, 3_000, np.diag([1.0, 0.1, 0.01]), 60.0)

    def error(guess: np.ndarray) -> float:
        return float(((guess - signal) ** 2).mean())

    best = error(denoise(seen, weight, variance))
    assert best < 0.8 * error(seen)
    assert best < 0.8 * error(np.zeros_like(seen))


def test_rare_items_lean_on_the_line_through_popularity(rng: np.random.Generator) -> None:
    popularity = np.exp(rng.uniform(0, 6, 4_000))
    truth = -1.0 + 0.3 * np.log(popularity) + 0.2 * rng.standard_normal(4_000)
    variance = 40.0 / popularity**2
    noisy_offsets = truth + np.sqrt(variance) * rng.standard_normal(4_000)
    guess = regress_offsets(noisy_offsets, variance, popularity)
    rare = popularity < 10
    assert np.sqrt(np.mean((guess - truth)[rare] ** 2)) < 0.25
    assert np.sqrt(np.mean((guess - truth)[popularity > 200] ** 2)) < 0.05


def test_a_moment_is_believed_as_far_as_it_stands_out(rng: np.random.Generator) -> None:
    kept = []
    for _ in range(200):
        noise = rng.standard_normal((6, 6))
        noise = (noise + noise.T) / 2
        drowned = shrink_to_identity(np.eye(6) + 0.1 * noise, 0.1) - np.eye(6)
        kept.append(np.square(drowned).sum() / np.square(0.1 * noise).sum())
    assert np.mean(kept) < 0.2
    truth = np.diag([3.0, 1.0, 1.0, 0.5, 1.0, 1.0])
    np.testing.assert_allclose(shrink_to_identity(truth + 0.001 * noise, 0.001), truth, atol=0.01)
    assert np.linalg.eigvalsh(shrink_to_identity(-5.0 * np.eye(3), 0.01)).min() >= 0.05 - 1e-12
