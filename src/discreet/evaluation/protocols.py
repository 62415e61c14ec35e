"""Evaluation protocols: predict held-out ratings; rank items for users from a query and look for a target.

Both take histories to fold in and a test over the same users, in any order, both in memory or both prepared on disk;
the users may or may not have been in training. Evaluating on private test data is not covered by the model's privacy
statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.evaluation import baselines, metrics
from discreet.evaluation.ranks import percentile_ranks
from discreet.evaluation.side_by_side import AnyRatings, count_items, mean_rating, pairs
from discreet.model import Model
from discreet.model.blocks import fold_in_blocks, score_top
from discreet.model.listing import order_terms
from discreet.types import Floats

__all__ = [
    "RankingScores",
    "RatingScores",
    "evaluate_percentile_rank",
    "evaluate_ranking",
    "evaluate_ratings",
    "predictions",
    "rankings",
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


def evaluate_ratings(model: Model, history: AnyRatings, test: AnyRatings) -> RatingScores:
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
    overall = mean_rating(history)
    sums = dict.fromkeys(("squares", "sizes", "overall", "own"), 0.0)
    for rows, part in pairs(model, history, test):
        wrong = predictions(model, rows, part) - part.values
        own = np.repeat(baselines.user_means(rows, overall), np.diff(part.indptr)) - part.values
        sums["squares"] += float(np.square(wrong).sum())
        sums["sizes"] += float(np.abs(wrong).sum())
        sums["overall"] += float(np.square(overall - part.values).sum())
        sums["own"] += float(np.square(own).sum())
    means = {name: total / test.n_ratings if test.n_ratings else np.nan for name, total in sums.items()}
    return RatingScores(
        rmse=float(np.sqrt(means["squares"])),
        mae=means["sizes"],
        global_mean_rmse=float(np.sqrt(means["overall"])),
        user_mean_rmse=float(np.sqrt(means["own"])),
        users=test.n_users,
        ratings=test.n_ratings,
    )


def predictions(model: Model, rows: Ratings, test: Ratings) -> Floats:
    """The rating that is predicted for every test rating; ``rows`` are the same users' histories (`pairs`)."""
    side, predicted = model.item_side, np.empty(len(test.values))
    for part in fold_in_blocks(side, rows):
        bounds = test.indptr[part.users.start : part.users.stop + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        users = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        predicted[entries] = side.predict(part.coefficients, users, test.items[entries])
    return predicted


def evaluate_ranking(model: Model, query: AnyRatings, target: AnyRatings, k: int = 20) -> RankingScores:
    """Rank all items outside each user's query and compare the first ``k`` with that user's target."""
    if k < 1:
        raise SettingsInvalid(f"the number of items to rank must be at least 1, not {k}")
    n_items, counts = model.item_side.n_items, count_items(query)
    names = ("recall", "ndcg", "popularity_recall", "popularity_ndcg")
    sums, users, shown = dict.fromkeys(names, 0.0), 0, np.zeros(n_items, dtype=bool)
    for rows, part in pairs(model, query, target):
        ranking, popular = rankings(model, rows, k), baselines.rank_by_count(counts, rows, k)
        with_target = np.diff(part.indptr) > 0
        users += int(with_target.sum())
        given = ranking[with_target]
        shown[given[given >= 0]] = True
        for prefix, lists in (("", ranking), ("popularity_", popular)):
            sums[f"{prefix}recall"] += float(metrics.recalls(lists, part.indptr, part.items, k).sum())
            sums[f"{prefix}ndcg"] += float(metrics.gains(lists, part.indptr, part.items, k).sum())
    means = {name: total / users if users else float("nan") for name, total in sums.items()}
    return RankingScores(**means, coverage=float(shown.sum() / n_items), k=k, users=users)


def rankings(model: Model, rows: Ratings, k: int) -> npt.NDArray[np.int32]:
    """The ``k`` best items outside each user's history, by position; -1 where no more are left."""
    side = model.item_side
    ranking = np.full((len(rows.indptr) - 1, min(k, side.n_items)), -1, dtype=np.int32)
    for part in fold_in_blocks(side, rows):
        seen = (part.indptr, part.items)
        ranking[part.users], _ = score_top(
            side, part.coefficients, k, seen, by_popularity=model.by_popularity
        )
    return ranking


def evaluate_percentile_rank(model: Model, history: Ratings, test: Ratings) -> float:
    """Mean percentile rank of the test ratings among all items, each weighted with its rating; 0.5 is a random order.

    Equation 3 of the prototypes paper. Unlike :func:`evaluate_ranking` it leaves the items of the history in the
    order. NaN where there is nothing to weight with.
    """
    side, ((rows, _),) = model.item_side, pairs(model, history, test)
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
