"""Private Frank-Wolfe end to end: what it spends, what it depends on, what it learns, what it needs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import Budget, Ratings
from discreet.data import synthetic
from discreet.evaluation import evaluate_ratings
from discreet.methods.published.private.frank_wolfe import FrankWolfe
from tests.conformance.runs import LARGE, record

BUDGET = Budget(2.0, 1e-6)
WAYS: dict[str, dict[str, Any]] = {
    "exact": {"rounds": 3},
    "oja": {"rounds": 2, "eigenvector": "oja", "oja_steps": 3},
    "exact, mean": {"rounds": 2, "centre": "mean", "max_ratings": 20},
}


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
@pytest.mark.parametrize("way", WAYS)
def test_one_release_for_each_direction_or_each_product(
    way: str, kind: str, market: Ratings, clicks: Ratings
) -> None:
    names = {
        "exact": ["step 1", "step 2", "step 3"],
        "oja": [f"step {step}, product {number}" for step in (1, 2) for number in (1, 2, 3)],
        "exact, mean": ["mean rating"] * (kind == "explicit") + ["step 1", "step 2"],
    }
    ratings = market if kind == "explicit" else clicks
    fitted = FrankWolfe(**WAYS[way]).fit(ratings.take_users(slice(0, 500)), BUDGET, rng=0)
    assert [release.name for release in fitted.statement_.releases] == names[way]
    assert fitted.rank_ == fitted.rounds_ == WAYS[way]["rounds"]


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"rounds": 20}, 0.55), ({"rounds": 12, "eigenvector": "oja", "oja_steps": 6}, 0.75)],
)
def test_a_low_rank_world_is_learnt(settings: dict[str, Any], error: float) -> None:
    """Predicting 0 has an error of 1; the user mean is no better."""
    train, test = synthetic.low_rank(3_000, n_items=200, rank=2, rng=0)
    model = FrankWolfe(**settings, row_clip=9.0).fit(train, LARGE, rng=0).model_
    assert evaluate_ratings(model, train, test).rmse < error


def test_steps_in_nothing_but_noise_are_passed_over(market: Ratings) -> None:
    for eigenvector in ("exact", "oja"):
        passed = [
            FrankWolfe(rounds=3, eigenvector=eigenvector)
            .fit(market, Budget(1e-4, 1e-9), rng=0)
            .model_.item_side
            for _ in range(3)
        ]
        assert sum((side.rule.eigenvalues > 0).sum() for side in passed) <= 3
        assert all(not side.factors[:, side.rule.eigenvalues <= 0].any() for side in passed)


def test_the_mean_is_charged_and_used(market: Ratings) -> None:
    side = FrankWolfe(rounds=1, centre="mean", centre_share=0.5).fit(market, LARGE, rng=0).model_.item_side
    assert side.centre == pytest.approx(float(market.values.mean()), abs=0.02)
    implicit = replace(market, rating_range=None, values=np.ones(market.n_ratings))
    fitted = FrankWolfe(rounds=1, centre="mean").fit(implicit, LARGE, rng=0)
    assert fitted.model_.item_side.centre == 0.0
    assert len(fitted.statement_.releases) == 1


def test_only_as_many_ratings_as_were_promised_take_part(market: Ratings) -> None:
    """With one rating of each user nobody links two items: the second moment has nothing beside its diagonal."""
    ((moment,),) = record(FrankWolfe(rounds=1, max_ratings=1), market).totals
    assert not (moment.value - np.diag(np.diag(moment.value))).any()
    assert moment.value.any()
