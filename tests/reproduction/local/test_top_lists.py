"""F-score of lists against lists, and how errors spread."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import SettingsInvalid
from reproduction.local.rotated import error_distribution, f_scores


def test_f_scores_by_hand() -> None:
    ranking = np.array([[0, 1, 2], [5, 4, 3], [7, -1, -1], [-1, -1, -1], [-1, -1, -1]])
    reference = np.array([[2, 1, 9], [0, 1, 2], [7, 8, -1], [1, 2, 3], [-1, -1, -1]])
    found = f_scores(ranking, reference)
    # two of three; none; precision 1, recall 1/2; nothing offered; nothing to say
    np.testing.assert_allclose(found[:4], [2 / 3, 0.0, 2 / 3, 0.0])
    assert np.isnan(found[4])
    with pytest.raises(SettingsInvalid):
        f_scores(ranking, reference[:2])


def test_error_distribution_by_hand() -> None:
    predicted, actual = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.5, 2.0, 1.0])
    np.testing.assert_allclose(
        error_distribution(predicted, actual, [0.0, 0.5, 1.0, 2.9, 3.0]), [0.25, 0.5, 0.75, 0.75, 1.0]
    )
    assert np.isnan(error_distribution(np.zeros(0), np.zeros(0), [1.0])).all()
