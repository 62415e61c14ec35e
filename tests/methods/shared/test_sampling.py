"""Sampling: at most k ratings a user, evenly, and nobody else's choice changes when a user comes or goes."""

import numpy as np
import pytest

from discreet import Ratings
from discreet.methods.shared.private import draw_numbers, keep_lowest, sample_uniform


def test_at_most_k_and_all_of_those_who_have_fewer(market: Ratings) -> None:
    kept = market.keep(sample_uniform(market, 10, seed=1))
    np.testing.assert_array_equal(np.diff(kept.indptr), np.minimum(np.diff(market.indptr), 10))


@pytest.mark.parametrize("short_of_most", [0, 1])
def test_the_most_ratings_of_a_user_may_all_count(market: Ratings, short_of_most: int) -> None:
    most = int(np.diff(market.indptr).max()) - short_of_most
    kept = market.keep(sample_uniform(market, most, seed=1))
    np.testing.assert_array_equal(np.diff(kept.indptr), np.minimum(np.diff(market.indptr), most))


def test_every_place_in_a_row_is_as_likely_as_every_other(market: Ratings) -> None:
    """A hash that preferred small items or small ratings would show here."""
    counts = np.diff(market.indptr)
    place = np.arange(market.n_ratings) - np.repeat(market.indptr[:-1], counts)
    relative = (place + 0.5) / np.repeat(counts, counts)
    kept = sample_uniform(market, 10, seed=1) & np.repeat(counts >= 30, counts)
    assert relative[kept].mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * kept.sum()))
    high = market.values >= np.median(market.values)
    among = np.repeat(counts >= 30, counts)
    expected = np.average(high[among], weights=(10 / np.repeat(counts, counts))[among])
    assert high[kept].mean() == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(kept.sum()))


def test_another_seed_draws_other_ratings(market: Ratings) -> None:
    one, other = (sample_uniform(market, 10, seed=seed) for seed in (1, 2))
    assert 0.1 < (one & other).sum() / one.sum() < 0.9


def test_nobody_elses_draw_changes_when_a_user_goes(market: Ratings) -> None:
    full, kept = draw_numbers(market, 7), sample_uniform(market, 5, 7)
    for user in (0, 1, 999, market.n_users - 1):
        rest = np.arange(market.n_users) != user
        others = np.repeat(rest, np.diff(market.indptr))
        np.testing.assert_array_equal(draw_numbers(market.take_users(rest), 7), full[others])
        np.testing.assert_array_equal(sample_uniform(market.take_users(rest), 5, 7), kept[others])


def test_the_lowest_numbers_are_kept_and_ties_go_by_item() -> None:
    ratings = Ratings.from_arrays(
        np.array([0, 4, 6]),
        np.array([0, 1, 2, 3, 1, 2]),
        np.ones(6) * 3,
        catalogue=range(5),
        rating_range=(1, 5),
    )
    kept = keep_lowest(ratings, np.array([5.0, 1.0, 1.0, 0.0, 9.0, 9.0]), 2)
    np.testing.assert_array_equal(kept, [False, True, False, True, True, True])
