"""Scores of models and of draws."""

from __future__ import annotations

import math

from discreet import ALS
from discreet.data import splits
from discreet.data.synthetic import market
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from reproduction.context import Context
from reproduction.scoring import Draws, metric_name, repeat, score


def test_ratings_are_scored_by_rmse() -> None:
    train, test = splits.by_rating(market(200, 40, 2_000, rng=0), (0.9, 0.1), rng=0)
    model = ALS(rank=2, rounds=2).fit(train, rng=0).model_
    assert metric_name(test) == "RMSE"
    assert score(model, train, test) == evaluate_ratings(model, train, test).rmse


def test_clicks_are_scored_by_recall() -> None:
    clicks = Context("quick").market(quick_users=300).clicks().ratings
    train, query, target = splits.held_out_users(clicks, 0.3, rng=0)
    model = ALS(rank=2, rounds=2).fit(train, rng=0).model_
    assert metric_name(target) == "Recall@20"
    assert score(model, query, target) == evaluate_ranking(model, query, target, 20).recall


def test_draws() -> None:
    draws = repeat(lambda draw: 1.0 + draw, range(3))
    assert (draws.mean, draws.spread) == (2.0, 1.0)
    assert str(draws) == "2.0000 ± 1.0000"
    assert math.isnan(Draws((1.0,)).spread)
    assert str(Draws((1.0,))) == "1.0000"
