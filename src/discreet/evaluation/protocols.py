"""Parts of :func:`discreet.evaluate` as plain numbers, for experiments."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.evaluation.protocol import AnyRatings, evaluate
from discreet.model import Model

__all__ = ["RankingScores", "RatingScores", "evaluate_ranking", "evaluate_ratings"]


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


def evaluate_ratings(model: Model, history: AnyRatings, test: AnyRatings) -> RatingScores:
    """Errors of :func:`discreet.evaluate`, as plain numbers."""
    found = evaluate(model, test, history=history, only="errors")
    assert found.global_mean is not None
    assert found.user_mean is not None
    means = found.global_mean.value, found.user_mean.value
    return RatingScores(found["rmse"].value, found["mae"].value, *means, found.users, found.ratings)


def evaluate_ranking(model: Model, query: AnyRatings, target: AnyRatings, k: int = 20) -> RankingScores:
    """Lists of :func:`discreet.evaluate` as plain numbers, where every row of the test is relevant, however rated."""
    lowest = None if target.rating_range is None else target.rating_range[0]
    found = evaluate(model, target, history=query, k=k, relevant=lowest, only="rankings")
    recall, ndcg = f"recall@{k}", f"ndcg@{k}"
    return RankingScores(
        recall=found[recall].value,
        ndcg=found[ndcg].value,
        coverage=found["coverage"].value,
        popularity_recall=found.popularity[recall].value,
        popularity_ndcg=found.popularity[ndcg].value,
        k=k,
        users=found.holder.with_relevant,
    )
