"""Private SVD end to end: what it spends, what it depends on, what it learns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet import Budget, Ratings
from discreet.data import splits, synthetic
from discreet.errors import SettingsInvalid
from discreet.evaluation.protocols import evaluate_ranking, evaluate_ratings
from discreet.methods.svd.estimator import PrivateSVD
from tests.methods import checks

Make = Callable[[], PrivateSVD]
WAYS: dict[str, dict[str, Any]] = {"default": {}, "all ratings": {"most": None, "rank": 3, "mean_share": 0.4}}


@pytest.fixture(params=list(WAYS))
def make(request: pytest.FixtureRequest) -> Make:
    return lambda: PrivateSVD(**WAYS[request.param])


@pytest.fixture(params=["explicit", "implicit"])
def ratings(request: pytest.FixtureRequest, market: Ratings, clicks: Ratings) -> Ratings:
    return market if request.param == "explicit" else clicks


def test_the_budget_is_spent_exactly_and_every_release_is_charged_once(
    make: Make, ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "item means" if ratings.explicit else "item counts"
    checks.check_budget(make, ratings, [first, "second moment"], monkeypatch)


def test_shares_go_where_they_were_asked_to(market: Ratings) -> None:
    statement = PrivateSVD(mean_share=0.36).fit(market, checks.BUDGET, rng=0).statement_
    assert statement.releases[0].mu == pytest.approx(0.6 * checks.BUDGET.mu, rel=1e-9)


def test_a_spent_gate_gives_only_what_is_left(make: Make, ratings: Ratings) -> None:
    checks.check_what_is_left(make, ratings)


def test_same_model_for_any_threads_and_any_order_of_users(make: Make, ratings: Ratings) -> None:
    checks.check_same_model(make, ratings)


@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("most", [5, None])
def test_no_user_moves_a_release_by_more_than_the_bound(explicit: bool, most: int | None) -> None:
    make = lambda: PrivateSVD(most=most, row_bound=0.5)  # noqa: E731
    checks.check_neighbours(make, checks.hostile_ratings(explicit))


def test_nothing_but_releases_reaches_the_model(make: Make, ratings: Ratings) -> None:
    checks.check_only_releases_reach_the_model(make, ratings)


def test_tiny_budgets_and_empty_worlds_do_no_harm(make: Make, ratings: Ratings) -> None:
    checks.check_tiny_budgets(make, ratings.take_users(slice(0, 300)))
    checks.check_empty_worlds(make, ratings)


def test_a_low_rank_world_is_learnt_and_its_rank_found() -> None:
    train, test = synthetic.low_rank(5_000, n_items=300, rank=3, rng=0)
    fitted = PrivateSVD(row_bound=5.0).fit(train, Budget(20.0, 1e-5), rng=0)
    assert fitted.rank_ == 3
    assert fitted.rounds_ == 1
    assert evaluate_ratings(fitted.model_, train, test).rmse < 0.25


def test_a_market_beats_means_and_factors_help(market: Ratings) -> None:
    train, _, test = splits.by_rating(market, (0.9, 0.05, 0.05), rng=0)
    scores = {
        rank: evaluate_ratings(PrivateSVD(rank=rank).fit(train, checks.LARGE, rng=0).model_, train, test)
        for rank in (0, 16)
    }
    assert scores[0].rmse < 0.95 * scores[0].user_mean_rmse
    assert scores[16].rmse < 0.97 * scores[0].rmse


def test_item_means_are_the_means_and_are_pulled_to_the_global_one_in_noise(market: Ratings) -> None:
    """Much budget: offsets around the global mean. Little: all items alike."""
    side = (
        PrivateSVD(rank=0, most=None, mean_share=0.99, stabiliser=1e-6)
        .fit(market, Budget(1e4, 1e-6))
        .model_.item_side
    )
    sums, counts = np.bincount(market.items, market.values, 200), np.bincount(market.items, minlength=200)
    often = counts > 50
    assert often.sum() > 50
    np.testing.assert_allclose((side.centre + side.offsets)[often], sums[often] / counts[often], atol=0.02)
    assert side.centre == pytest.approx(float(market.values.mean()), abs=0.01)
    pulled = PrivateSVD(rank=0).fit(market, Budget(0.05, 1e-6)).model_.item_side
    assert pulled.offsets.std() < 0.35


def test_a_row_bound_says_how_much_noise_there_is(market: Ratings) -> None:
    """A bound far above the rows drowns them: no factor is left."""
    assert PrivateSVD(row_bound=1e3).fit(market, Budget(5.0, 1e-6), rng=0).rank_ == 0
    assert PrivateSVD(row_bound=2.0).fit(market, Budget(5.0, 1e-6), rng=0).rank_ > 0


def test_clicks_beat_popularity(clicks: Ratings) -> None:
    train, query, target = splits.held_out_users(clicks, 0.2, rng=0)
    scores = evaluate_ranking(PrivateSVD().fit(train, Budget(20.0, 1e-6), rng=0).model_, query, target, 10)
    assert scores.recall > 1.1 * scores.popularity_recall


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rnak": 3}, "rnak.*Known settings.*rank"),
        ({"rank": -1}, "rank"),
        ({"mean_share": 0.0}, "mean_share"),
        ({"row_bound": float("nan")}, "row_bound"),
        ({"stabiliser": "much"}, "stabiliser"),
        ({"gravity": float("inf")}, "gravity"),
    ],
)
def test_settings_are_checked_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        PrivateSVD(**settings)
