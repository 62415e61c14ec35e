"""Gravity follows from the score that what was taken should have, and from nothing that says less."""

import numpy as np
import pytest

from discreet.methods.budgeted.public.gravity import first_gravity, gravity_noise, settled_gravity

SCORE = 0.25


def taken(seed: int, items: int = 500, most: float = 0.3) -> np.ndarray:
    """Shares of users by a Zipf law, in no order."""
    rng = np.random.default_rng(seed)
    return rng.permutation(most * np.arange(1, items + 1) ** -0.9)


def mean_score(shares: np.ndarray, gravity: float) -> float:
    """Of what was taken, where everybody's score of an item is that of its popularity."""
    return float(np.average(shares / (shares + gravity), weights=shares))


@pytest.mark.parametrize("items", [1, 20, 500, 20_000])
@pytest.mark.parametrize("most", [1.0, 0.1, 0.001])
def test_popularity_would_have_the_wanted_mean_score_at_half_the_first_gravity(
    items: int, most: float
) -> None:
    shares = taken(0, items, most)
    gravity = first_gravity(shares)
    # With few items that nearly everybody takes, gravity would have to be above what is allowed.
    assert gravity <= 1.0
    if gravity < 0.99:
        assert mean_score(shares, gravity / 2.0) == pytest.approx(SCORE, rel=0.01)
    else:
        assert mean_score(shares, 0.5) >= SCORE * 0.99


def test_one_popular_item_reaches_the_largest_gravity() -> None:
    assert first_gravity(np.array([0.1])) == pytest.approx(0.6, rel=0.01)
    assert first_gravity(np.array([1.0])) == pytest.approx(1.0, rel=0.01)


def test_noise_that_hides_taste_lowers_the_score_to_aim_at() -> None:
    """Under noise what was taken has a lower score, and gravity stays where it would be without."""
    assert settled_gravity(0.1, SCORE / 2.0, hard=0.15) == pytest.approx(0.1, rel=1e-9)
    assert settled_gravity(0.1, SCORE, hard=0.01) == pytest.approx(0.1, rel=0.02)
    found = [settled_gravity(0.1, 0.2, hard=hard) for hard in (0.0, 0.1, 0.2, 0.4)]
    assert (np.diff(found) > 0.0).all()


@pytest.mark.parametrize("seed", range(3))
def test_items_that_nobody_uses_do_not_move_it(seed: int) -> None:
    shares = taken(seed)
    longer = np.concatenate([shares, np.full(5_000, 1e-9)])
    assert first_gravity(longer) == pytest.approx(first_gravity(shares), rel=1e-3)


def test_the_order_of_items_does_not_move_it() -> None:
    shares = taken(1)
    assert first_gravity(np.random.default_rng(2).permutation(shares)) == pytest.approx(
        first_gravity(shares), rel=1e-9
    )


def test_it_is_in_the_unit_of_the_shares() -> None:
    """Everybody takes half as much of everything: scores stay if gravity halves."""
    shares = taken(3)
    assert first_gravity(0.5 * shares) == pytest.approx(0.5 * first_gravity(shares), rel=1e-6)


@pytest.mark.parametrize("gravity", [1e-6, 0.003, 0.1, 0.9])
def test_the_right_score_leaves_it_where_it_is(gravity: float) -> None:
    assert settled_gravity(gravity, SCORE) == pytest.approx(gravity, rel=1e-9)


def test_the_right_score_follows_at_once_where_scores_are_as_assumed() -> None:
    """A taken item's score is d / (d + g): the next gravity makes it the wanted one."""
    often, gravity = 0.02, 0.015
    after = settled_gravity(gravity, often / (often + gravity))
    assert often / (often + after) == pytest.approx(SCORE, rel=1e-9)


def test_it_rises_with_the_score() -> None:
    found = [settled_gravity(0.01, score) for score in np.linspace(0.05, 0.7, 30)]
    assert (np.diff(found) > 0.0).all()
    assert found[0] < 0.01 < found[-1]


@pytest.mark.parametrize("score", [-np.inf, -5.0, 0.0, 1e-9, 0.5, 1.0, 3.0, 1e300, np.inf])
@pytest.mark.parametrize("gravity", [1e-9, 1e-3, 0.4, 1.0])
def test_noise_in_the_score_moves_it_by_a_bounded_factor(gravity: float, score: float) -> None:
    found = settled_gravity(gravity, score)
    assert gravity / 8.0 * (1 - 1e-9) <= found <= min(8.0 * gravity, 1.0) * (1 + 1e-9)


def test_rounds_settle_where_the_score_is_right_from_any_start() -> None:
    """Scores of popularity, each round under the gravity of the one before."""
    shares = taken(4)
    for gravity in (1e-6, 1.0):
        for _ in range(12):
            gravity = settled_gravity(gravity, mean_score(shares, gravity))
        assert gravity == pytest.approx(first_gravity(shares) / 2.0, rel=0.01)


@pytest.mark.parametrize("score", [0.05, 0.25, 0.6])
@pytest.mark.parametrize("sigma", [1e-4, 0.01, 0.05])
def test_its_noise_is_what_noise_in_the_score_moves_it_by(score: float, sigma: float) -> None:
    up, down = (settled_gravity(0.1, score + step, sigma) for step in (1e-5, -1e-5))
    assert gravity_noise(score, sigma) == pytest.approx(min(np.log(up / down) / 2e-5 * sigma, 1.0), rel=0.01)


def test_its_noise_is_bounded_whatever_the_score() -> None:
    for score in (-np.inf, -1.0, 0.0, 1.0, np.inf):
        assert 0.0 < gravity_noise(score, 0.04) <= 1.0
    assert gravity_noise(0.25, 0.0) == 0.0
