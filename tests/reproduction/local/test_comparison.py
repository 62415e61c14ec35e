"""Rotated bits beside the coordinate sampling of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.data.synthetic import market
from discreet.devices.estimator import noise_variance
from reproduction.local.comparison import compare_popularity


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_at_least_fifty_times_less_variance_than_coordinate_sampling(epsilon: float) -> None:
    """2,000 items, the same devices and bits, one run."""
    ratings = market(20_000, 2_000, 600_000, rng=3)
    errors = compare_popularity(
        (ratings.indptr, ratings.items, ratings.values), 2_000, epsilon, np.random.default_rng(1)
    )
    assert errors.ratio >= 50
    assert errors.ratio == pytest.approx(2_000 / (math.pi / 2), rel=0.2)
    assert errors.rotated == pytest.approx(noise_variance(epsilon, 20_000), rel=0.15)
    assert errors.raw_ratio > 10
