"""Parts of :func:`discreet.evaluate` as plain numbers, for experiments, and the prototypes paper's rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from discreet.data.ratings import Ratings
from discreet.evaluation.protocol import evaluate
from discreet.evaluation.ranks import percentile_ranks
from discreet.evaluation.recommender import Recommender
from discreet.evaluation.side_by_side import AnyRatings, pairs
from discreet.model import Model
from discreet.model.blocks import fold_in_blocks
from discreet.model.listing import order_terms
from discreet.types import Floats

__all__ = [
    "RankingScores",
    "RatingScores",
    "evaluate_percentile_rank",
    "evaluate_ranking",
    "evaluate_ratings",
]


@dataclass(frozen=True)
class RatingScores:
    """Errors of the model on test ratings, with the free baselines beside."""

    rmse: float
    mae: float
    global_mean_rmse: float
    user_mean_rmse: float
    users: int
    ratings: int


@dataclass(frozen=True)
class RankingScores:
    """Quality of the ``k`` best items, with popularity beside; ``users`` are those with a target."""

    recall: float
    ndcg: float
    coverage: float
    popularity_recall: float
    popularity_ndcg: float
    k: int
    users: int


def evaluate_ratings(model: Recommender, history: AnyRatings, test: AnyRatings) -> RatingScores:
    """Errors of :func:`discreet.evaluate`, as plain numbers."""
    found = evaluate(model, test, history=history, only="errors")
    assert found.global_mean is not None
    assert found.user_mean is not None
    return RatingScores(
        rmse=found["rmse"].value,
        mae=found["mae"].value,
        global_mean_rmse=found.global_mean.value,
        user_mean_rmse=found.user_mean.value,
        users=found.users,
        ratings=found.ratings,
    )


def evaluate_ranking(model: Recommender, query: AnyRatings, target: AnyRatings, k: int = 20) -> RankingScores:
    """Lists of :func:`discreet.evaluate` as plain numbers, where every row of the test is relevant, however rated."""
    lowest = None if target.rating_range is None else target.rating_range[0]
    found = evaluate(model, target, history=query, k=k, relevant=lowest, only="rankings")
    return RankingScores(
        recall=found[f"recall@{k}"].value,
        ndcg=found[f"ndcg@{k}"].value,
        coverage=found["coverage"].value,
        popularity_recall=found.popularity[f"recall@{k}"].value,
        popularity_ndcg=found.popularity[f"ndcg@{k}"].value,
        k=k,
        users=found.holder.with_relevant,
    )


def evaluate_percentile_rank(model: Model, history: Ratings, test: Ratings) -> float:
    """Mean percentile rank of the test ratings among all items, each weighted with its rating; 0.5 is a random order.

    Equation 3 of the prototypes paper. Unlike :func:`evaluate_ranking` it leaves the items of the history in the
    order. NaN where there is nothing to weight with.
    """
    side, ((rows, _),) = model.factors, pairs(model, history, test)
    weight = float(test.values.sum())
    if not weight > 0.0:
        return float("nan")
    (design, level), placed = order_terms(side, model.by_popularity), 0.0
    for part in fold_in_blocks(side, rows):
        bounds = test.indptr[part.users.start : part.users.stop + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        scores = partial(_scores, part.coefficients, design.T, level)
        places = percentile_ranks(scores, bounds - bounds[0], test.items[entries], side.n_items)
        placed += float(places @ test.values[entries])
    return placed / weight


def _scores(coefficients: Floats, design: Floats, level: Floats, users: slice) -> Floats:
    scores: Floats = coefficients[users] @ design + level
    return scores
