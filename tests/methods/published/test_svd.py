"""Private SVD end to end: what it spends, what it depends on, what it learns."""

import numpy as np
import pytest

from discreet import Budget, Ratings
from discreet.data import synthetic
from discreet.evaluation import evaluate_ratings
from discreet.methods.published.private.svd import PrivateSVD

BUDGET = Budget(2.0, 1e-6)


def test_releases_are_means_or_counts_and_one_second_moment(market: Ratings, clicks: Ratings) -> None:
    for ratings, first in ((market, "item means"), (clicks, "item counts")):
        statement = PrivateSVD().fit(ratings, BUDGET, rng=0).statement_
        assert [release.name for release in statement.releases] == [first, "second moment"]


def test_a_low_rank_world_is_learnt_and_its_rank_found() -> None:
    train, test = synthetic.low_rank(5_000, n_items=300, rank=3, rng=0)
    fitted = PrivateSVD(row_clip=5.0).fit(train, Budget(20.0, 1e-5), rng=0)
    assert fitted.rank_ == 3
    assert fitted.rounds_ == 1
    assert evaluate_ratings(fitted.model_, train, test).rmse < 0.25


def test_item_means_are_the_means_and_are_pulled_to_the_global_one_in_noise(market: Ratings) -> None:
    """Much budget: offsets around the global mean. Little: all items alike."""
    side = (
        PrivateSVD(rank=0, max_ratings=None, mean_share=0.99).fit(market, Budget(1e4, 1e-6)).model_.item_side
    )
    sums, counts = np.bincount(market.items, market.values, 200), np.bincount(market.items, minlength=200)
    often = counts > 50
    assert often.sum() > 50
    np.testing.assert_allclose((side.centre + side.offsets)[often], sums[often] / counts[often], atol=0.2)
    assert side.centre == pytest.approx(float(market.values.mean()), abs=0.01)
    pulled = PrivateSVD(rank=0).fit(market, Budget(0.05, 1e-6)).model_.item_side
    assert pulled.offsets.std() < 0.35
