"""How much taste is taken to be hidden by noise: by the formulas' own limits, and against runs without noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.unfound import missing, unexplained, unfound
from discreet.types import Floats

POWER = np.array([0.1, 0.03, 0.01, 0.0])
CROWD = Activity(5_000.0, 50.0, 3.0, 1.0, 0.3, np.array([20.0, 80.0]), np.array([0.5, 0.5]))


def hidden(
    power: Floats = POWER,
    known: float = 1e4,
    square: float = 0.7,
    activity: Activity = CROWD,
    ratings: float = 1e5,
) -> float:
    return unfound(power, known, ratings, square, activity)


def test_nothing_is_hidden_where_there_is_no_noise_or_no_scatter() -> None:
    assert hidden(known=1e16) < 1e-4 * hidden()
    assert hidden(square=1e-12) < 1e-4 * hidden()


def test_more_noise_hides_more_and_never_more_than_the_residual() -> None:
    found = [hidden(known=known) for known in (1e6, 1e5, 1e4, 1e3, 1e2)]
    assert found == sorted(found)
    assert found[0] > 0.0
    assert missing(hidden(known=1e-12), 0.7, 0.0, 1.0, CROWD) == pytest.approx(0.7, rel=1e-3)


def test_four_times_the_information_halves_what_is_lost_of_a_strong_direction() -> None:
    """The threshold is a root, and a strong direction loses as much as the threshold."""
    strong = np.array([1.0])
    assert hidden(strong, known=4e6) == pytest.approx(0.5 * hidden(strong, known=1e6), rel=0.01)
    # All of the loss of a direction that everybody's ratings tell is in the scores.
    many = replace(CROWD, ratings_per_user=1e4, sizes=np.array([1e4]), shares=np.ones(1))
    assert hidden(strong, 1e6, 0.7, many) == pytest.approx(4.0 * np.sqrt(0.7 / 1e4 / 1e6), rel=0.01)


def test_a_direction_of_which_nothing_was_found_may_be_there() -> None:
    assert hidden(np.zeros(3)) == pytest.approx(3.0 * hidden(np.zeros(1)))
    assert hidden(np.zeros(1)) > 0.0
    # ... unless its item's few ratings would have hidden it without noise too,
    assert hidden(np.zeros(1), ratings=10.0) == 0.0
    # and counts less than one that was found: that is known to be there.
    assert hidden(np.zeros(1)) < hidden(np.array([0.05]))
    assert hidden(np.zeros(0)) == 0.0


def test_the_order_of_directions_and_a_split_of_the_crowd_change_nothing() -> None:
    assert hidden(POWER[::-1]) == pytest.approx(hidden())
    split = replace(CROWD, sizes=np.array([20.0, 80.0, 80.0]), shares=np.array([0.5, 0.2, 0.3]))
    assert hidden(activity=split) == pytest.approx(hidden())


def test_a_residual_is_hidden_taste_where_next_to_nothing_of_what_ratings_vary_by_is_left() -> None:
    """In a world without scatter the noise hid all that is not explained; in a usual one next to none of it."""
    assert missing(0.0, 1e-6, 0.0, 1.0, CROWD) == pytest.approx(1e-6, rel=1e-4)
    assert missing(0.0, 0.7, 0.0, 1.0, CROWD) < 1e-4
    assert missing(0.0, 2.0, 0.0, 1.0, CROWD) == 0.0


def test_what_is_expected_counts_where_ratings_scatter_and_the_residual_where_they_do_not() -> None:
    assert missing(0.03, 0.7, 0.0, 0.5, CROWD) == 0.03
    # Without scatter nothing can be wrong but what the last step has left of the residual.
    left = unexplained(1e-6, 0.2e-6, 0.3)
    for expected in (0.0, 1e-7, 1e-3):
        assert missing(expected, 1e-6, 0.2e-6, 0.3, CROWD) == pytest.approx(left, rel=1e-4)


def test_nothing_is_hidden_in_a_residual_that_is_the_noise_of_items() -> None:
    assert missing(9.0, 0.7, 0.5, 1.0, CROWD) == pytest.approx(0.2, rel=1e-3)
    assert missing(9.0, 0.7, 0.7, 1.0, CROWD) == missing(9.0, 0.7, 3.0, 1.0, CROWD) == 0.0
    left = [unexplained(1e-6, part * 1e-6, 1.0) for part in (0.0, 0.5, 0.9, 1.0, 5.0)]
    assert left == sorted(left, reverse=True)
    # Half of it being noise, nearly all of it stays: the step that follows does not take away what is not noise.
    assert left[1] > 0.9e-6
    assert left[3] == left[4] == 0.0


def test_what_was_hidden_goes_on_to_fall_and_noise_does_not() -> None:
    assert unexplained(1e-6, 0.0, 0.25) == pytest.approx(0.25e-6)
    assert unexplained(1e-6, 0.4e-6, 0.0) == pytest.approx(0.4e-6, rel=1e-3)
    assert unexplained(1e-6, 0.4e-6, 0.25) == pytest.approx(0.4e-6 + 0.25 * 0.6e-6, rel=1e-3)


@pytest.mark.parametrize("noise", [1e-6, 1.0, 1e40])
def test_noise_far_beyond_the_residual_hides_nothing(noise: float) -> None:
    """A run on ratings that are all alike ends with a residual of next to nothing; its budget is spent by then."""
    assert unexplained(1e-30, noise, 0.5) == 0.0
    assert missing(1e-3, 1e-30, noise, 0.5, CROWD) == 0.0
