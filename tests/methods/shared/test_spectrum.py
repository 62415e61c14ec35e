"""What is read off a noisy second moment."""

import numpy as np
import pytest

from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.spectrum import (
    click_factors,
    leading,
    noise_edge,
    rating_factors,
    signal,
)
from discreet.types import Floats


def noise(rng: np.random.Generator, order: int, sigma: float) -> Floats:
    full = sigma * rng.standard_normal((order, order))
    return 0.5 * (full + full.T)


@pytest.mark.parametrize("order", [1, 2, 40, 700])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_leading_vectors_are_eigenvectors_of_the_largest_values(order: int, count: int) -> None:
    rng = np.random.default_rng(order)
    basis = np.linalg.qr(rng.standard_normal((order, order)))[0]
    spread = np.sort(rng.standard_normal(order))[::-1] * 5.0
    matrix = (basis * spread) @ basis.T
    values, vectors = leading(0.5 * (matrix + matrix.T), count)
    assert values.shape == (min(count, order),)
    np.testing.assert_allclose(values, spread[: len(values)], atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-4)
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))] > 0).all()


def test_noise_alone_ends_below_its_edge_and_has_no_signal() -> None:
    values, _ = leading(noise(np.random.default_rng(1), 800, 3.0), 1)
    assert 0.95 * noise_edge(3.0, 800) < values[0] < noise_edge(3.0, 800)
    assert signal(np.array([-5.0, 0.0, noise_edge(3.0, 800)]), 3.0, 800).tolist() == [0.0, 0.0, 0.0]


def test_signal_is_what_the_found_vector_carries() -> None:
    """theta times the squared cosine with the true direction, which the eigenvalue alone overstates."""
    rng, order = np.random.default_rng(2), 900
    truth = rng.standard_normal(order)
    truth /= np.linalg.norm(truth)
    theta = 1.5 * noise_edge(1.0, order) / 2.0
    values, vectors = leading(theta * np.outer(truth, truth) + noise(rng, order, 1.0), 1)
    carried = theta * float(truth @ vectors[:, 0]) ** 2
    assert signal(values, 1.0, order)[0] == pytest.approx(carried, rel=0.1)
    assert values[0] > 1.3 * carried


def test_rating_factors_give_back_the_covariance_of_the_users() -> None:
    """Users with known tastes and noise: a ridge of 1 must mean variance 1, and the rank is found."""
    rng = np.random.default_rng(3)
    n, m, kept, scatter = 20_000, 200, 40, 0.6
    taste = np.linalg.qr(rng.standard_normal((m, 2)))[0] * np.sqrt(m) * [0.9, 0.5]
    full = rng.standard_normal((n, 2)) @ taste.T + scatter * rng.standard_normal((n, m))
    seen = rng.random((n, m)) < kept / m
    rows = np.where(seen, full, 0.0)
    sigma = 100.0
    moment = rows.T @ rows + noise(rng, m, sigma)
    popularity = ItemWeights.first(seen.sum(axis=0).astype(float), np.ones(m))
    factors = rating_factors(moment, sigma, 10, popularity, kept)
    assert factors.shape == (m, 2)
    wanted = taste @ taste.T / scatter**2
    assert np.linalg.norm(factors @ factors.T - wanted) < 0.15 * np.linalg.norm(wanted)


def test_click_factors_have_the_gravity_of_their_strength() -> None:
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((80, 2)))[0]
    factors = click_factors(basis @ np.diag([800.0, 200.0]) @ basis.T, 0.001, 2, 0.25)
    assert 0.25 * (factors**2).sum(axis=0) == pytest.approx([1.0, 0.25], rel=0.1)
