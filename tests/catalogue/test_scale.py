"""The scale of the ratings, and what ratings say to a model that ranks."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.catalogue import CLICKS, RatingScale


@pytest.mark.parametrize("bounds", [(1.0, 5.0), (0.0, 100.0), (-10.0, 10.0)])
def test_evidence_rises_from_four_fifths_to_one_over_any_range(bounds: tuple[float, float]) -> None:
    low, high = bounds
    found = RatingScale(bounds).evidence(np.array([low, 0.5 * (low + high), high]))
    np.testing.assert_allclose(found, [0.8, 0.9, 1.0], atol=1e-15)


def test_a_click_is_whole_evidence_whatever_number_it_came_with() -> None:
    np.testing.assert_array_equal(CLICKS.evidence(np.array([1.0, 7.0])), [1.0, 1.0])
