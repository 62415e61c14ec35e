"""Mean percentile rank (equation 3 of the prototypes paper)."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.evaluation.ranks import mean_percentile_rank, percentile_ranks


def test_first_is_zero_last_is_one_and_ties_share() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [0.0, 5.0, 5.0]])
    ranks = percentile_ranks(
        lambda part: scores[part], np.array([0, 3, 4, 6]), np.array([0, 1, 2, 1, 0, 1]), 3
    )
    assert ranks.tolist() == [0.0, 0.5, 1.0, 0.5, 1.0, 0.25]


def test_mean_is_weighted_with_the_rating() -> None:
    scores = np.array([[3.0, 2.0, 1.0]])
    arrays = np.array([0, 2]), np.array([0, 2]), np.array([3.0, 1.0])
    assert mean_percentile_rank(lambda part: scores[part], *arrays) == 0.25
    nothing = np.array([0, 0]), np.array([], dtype=int), np.array([])
    assert np.isnan(mean_percentile_rank(lambda part: scores[part], *nothing))


def test_random_orders_are_in_the_middle() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((2000, 50))
    indptr, items = np.arange(2001) * 3, rng.integers(0, 50, 6000)
    found = mean_percentile_rank(lambda part: scores[part], indptr, items, np.ones(6000))
    assert found == pytest.approx(0.5, abs=0.02)
