"""Mean percentile rank (equation 3 of the prototypes paper)."""

from __future__ import annotations

import numpy as np

from reproduction.silos.worlds import percentile_ranks


def test_first_is_zero_last_is_one_and_ties_share() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [0.0, 5.0, 5.0]])
    ranks = percentile_ranks(lambda user: scores[user], np.array([0, 3, 4, 6]), np.array([0, 1, 2, 1, 0, 1]))
    assert ranks.tolist() == [0.0, 0.5, 1.0, 0.5, 1.0, 0.25]
