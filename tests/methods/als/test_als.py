"""Plain ALS: the least-squares solution, and honest about not being private."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import ALS, Ratings
from discreet.data import splits, synthetic
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from tests.conformance import suite
from tests.conformance.cases import town


def test_ratings_are_predicted_better_than_by_offsets_or_means(market: Ratings) -> None:
    train, _, test = splits.by_rating(market, (0.9, 0.05, 0.05), rng=0)
    factors = evaluate_ratings(ALS(rank=16).fit(train, rng=0).model_, train, test)
    offsets = evaluate_ratings(ALS(rank=0, rounds=5).fit(train, rng=0).model_, train, test)
    assert factors.rmse < 0.97 * offsets.rmse < 0.95 * offsets.user_mean_rmse


def test_clicks_are_ranked_better_than_by_popularity(clicks: Ratings) -> None:
    train, query, target = splits.held_out_users(clicks, 0.2, rng=0)
    scores = evaluate_ranking(ALS(rank=16).fit(train, rng=0).model_, query, target)
    assert scores.recall > scores.popularity_recall


def test_every_round_lowers_the_objective(market: Ratings) -> None:
    """The penalised squared error that the two half-steps minimise in turn, written out."""

    def objective(rounds: int) -> float:
        side = (
            ALS(rank=4, rounds=rounds, penalty=0.05, offset_penalty=0.05, count_exponent=1.0)
            .fit(market, rng=0)
            .model_.item_side
        )
        users = side.fold_in(market.indptr, market.items, market.values)
        rows = np.repeat(np.arange(market.n_users), np.diff(market.indptr))
        fit = (
            side.centre
            + side.offsets[market.items]
            + np.einsum("ij,ij->i", users[rows], side.design[market.items])
        )
        counts = np.bincount(market.items, minlength=market.n_items)
        penalty = 0.05 * (np.diff(market.indptr)[:, None] * users**2).sum()
        penalty += 0.05 * (counts * side.offsets**2).sum() + 0.05 * (counts[:, None] * side.factors**2).sum()
        return float(((market.values - fit) ** 2).sum() + penalty)

    values = [objective(rounds) for rounds in (1, 2, 4, 8)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.98 * values[0]


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_it_is_served_like_any_model_and_keeps_no_training_data(kind: str, tmp_path: Path) -> None:
    """Where some users rated nothing and nobody rated an item."""
    fitted: Any = ALS(rank=4, rounds=3).fit(town(kind), rng=0)
    assert fitted.statement_ is fitted.model_.statement
    suite.check_served(fitted, town(kind), tmp_path)
    suite.check_nothing_kept(fitted, town(kind))


def test_ratings_as_opinions_rank_and_predict_none() -> None:
    market = synthetic.market(2_000, 500, 80_000, rng=0, lift=1.5)
    train, test = splits.by_rating(market, (0.9, 0.1), rng=0)
    fitted = ALS(goal="rank", rank=8).fit(train, rng=0)
    assert fitted.model_.goal == fitted.model_.settings["goal"] == fitted.statement_.goal == "rank"
    assert fitted.model_.item_side.scale == market.scale
    rated = ALS(goal="rate", rank=8).fit(train, rng=0).model_
    assert rated.goal == "rate"
    ranked = evaluate_ranking(fitted.model_, train, test, 20)
    assert ranked.recall > 2.0 * evaluate_ranking(rated, train, test, 20).recall
