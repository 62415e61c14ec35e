"""Evaluation protocols: predict held-out ratings; rank items for users from a query and look for a target.

Both take histories to fold in and a test over the same users, in any order; the users may or may not have
been in training. Evaluating on private test data is not covered by the model's privacy statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import HistoryInvalid, SettingsInvalid
from discreet.evaluation import baselines, metrics
from discreet.evaluation.ranks import percentile_ranks
from discreet.model import Model
from discreet.model.blocks import check_histories, fold_in_blocks, score_top
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


def evaluate_ratings(model: Model, history: Ratings, test: Ratings) -> RatingScores:
    """Predict every test rating from the same user's history.

    Parameters
    ----------
    history
        What each user is folded in from; a test user who is not in it gets the prediction of an empty
        history.
    test
        Ratings to predict; they must not be in ``history``.
    """
    side = model.item_side
    if side.goal == "rank":
        why = (
            'this model ranks; it does not predict ratings: train with goal="rate" (--goal rate)'
            if side.scale.explicit
            else "the model was trained without ratings, so it predicts none"
        )
        raise SettingsInvalid(f"{why}; evaluate its ranking")
    rows = _aligned(model, history, test)
    predicted = np.empty(len(test.values))
    for part in fold_in_blocks(side, rows):
        bounds = test.indptr[part.users.start : part.users.stop + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        users = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        predicted[entries] = side.predict(part.coefficients, users, test.items[entries])
    overall = baselines.global_mean(history)
    own = np.repeat(baselines.user_means(rows, overall), np.diff(test.indptr))
    return RatingScores(
        rmse=metrics.rmse(predicted, test.values),
        mae=metrics.mae(predicted, test.values),
        global_mean_rmse=metrics.rmse(np.full(len(test.values), overall), test.values),
        user_mean_rmse=metrics.rmse(own, test.values),
        users=test.n_users,
        ratings=test.n_ratings,
    )


def evaluate_ranking(model: Model, query: Ratings, target: Ratings, k: int = 20) -> RankingScores:
    """Rank all items outside each user's query and compare the first ``k`` with that user's target."""
    if k < 1:
        raise SettingsInvalid(f"the number of items to rank must be at least 1, not {k}")
    side, n_items = model.item_side, model.item_side.n_items
    rows = _aligned(model, query, target)
    ranking = np.full((len(target.indptr) - 1, min(k, n_items)), -1, dtype=np.int32)
    for part in fold_in_blocks(side, rows):
        seen = (part.indptr, part.items)
        ranking[part.users], _ = score_top(
            side, part.coefficients, k, seen, by_popularity=model.by_popularity
        )
    popular = baselines.popularity_ranking(query, rows, n_items, k)
    with_target = np.diff(target.indptr) > 0
    return RankingScores(
        recall=metrics.recall_at_k(ranking, target.indptr, target.items, k),
        ndcg=metrics.ndcg_at_k(ranking, target.indptr, target.items, k),
        coverage=metrics.coverage(ranking[with_target], n_items),
        popularity_recall=metrics.recall_at_k(popular, target.indptr, target.items, k),
        popularity_ndcg=metrics.ndcg_at_k(popular, target.indptr, target.items, k),
        k=k,
        users=int(with_target.sum()),
    )


def evaluate_percentile_rank(model: Model, history: Ratings, test: Ratings) -> float:
    """Mean percentile rank of the test ratings among all items, each weighted with its rating; 0.5 is a random order.

    Equation 3 of the prototypes paper. Unlike :func:`evaluate_ranking` it leaves the items of the history in the
    order. NaN where there is nothing to weight with.
    """
    side, rows = model.item_side, _aligned(model, history, test)
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


def _aligned(model: Model, history: Ratings, test: Ratings) -> Ratings:
    """The histories of the test's users, in the test's order."""
    for part in (history, test):
        check_histories(part, model.catalogue, model.item_side)
    rows = history.for_users(test.user_ids)
    if test.n_users and rows.n_ratings == 0:
        raise HistoryInvalid(
            f"none of the {test.n_users} test users has a history: user ids such as {test.user_ids[0]!r} are "
            f"looked for among ids such as {history.user_ids[0]!r}; both files need the same user ids"
        )
    return rows
