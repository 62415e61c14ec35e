"""The scale of the ratings, and what ratings say to a model that ranks."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.catalogue import CLICKS, RatingScale


@pytest.mark.parametrize(("low", "high"), [(1.0, 5.0), (0.0, 10.0), (-3.0, 3.0), (0.5, 0.75)])
def test_what_is_liked_and_what_speaks_against_are_public_rules_of_the_range(low: float, high: float) -> None:
    scale, width = RatingScale((low, high)), high - low
    stars = low + width * np.array([0.0, 0.1, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0])
    assert scale.liked(stars).tolist() == [0, 0, 0, 4, 8, 12, 16, 18, 20]
    assert scale.opinions(stars) == pytest.approx([-0.8, -0.64, -0.4, -0.1, 0.2, 0.45, 0.7, 0.85, 1.0])
    # Nothing outside the range counts for more than its ends.
    far = np.array([low - 100.0 * width, high + 100.0 * width])
    assert scale.liked(far).tolist() == [0, 20]
    assert scale.opinions(far).tolist() == [-0.8, 1.0]


def test_a_click_is_liked_once_and_one_below_zero_speaks_against() -> None:
    assert CLICKS.liked(np.array([1.0, 7.0, 0.0])).tolist() == [1, 1, 1]
    assert CLICKS.opinions(np.array([1.0, -1.0, 0.0, 9.0])).tolist() == [1.0, -0.8, 1.0, 1.0]
