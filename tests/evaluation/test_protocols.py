"""Whole evaluations against one user, one rating at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.catalogue import RatingScale
from discreet.data.ratings import Ratings
from discreet.errors import HistoryInvalid, SettingsInvalid
from discreet.evaluation import baselines, evaluate_ranking, evaluate_ratings
from discreet.model import Model
from discreet.privacy.statement import Statement
from tests.model.models import make_model


def random_ratings(model: Model, users: list[str], seed: int, most: int = 5) -> Ratings:
    """One to ``most`` ratings for each user."""
    rng = np.random.default_rng(seed)
    n_items, rating_range = model.item_side.n_items, model.item_side.scale.range
    counts = rng.integers(1, most + 1, len(users))
    items = np.concatenate([rng.choice(n_items, count, replace=False) for count in counts])
    values = rng.integers(1, 6, len(items)) if rating_range else np.ones(len(items))
    return Ratings.from_arrays(
        np.r_[0, np.cumsum(counts)],
        items,
        values,
        catalogue=model.catalogue,
        rating_range=rating_range,
        user_ids=users,
    )


HISTORY_USERS = [f"u{i}" for i in range(12)]
TEST_USERS = ["u7", "u0", "u11", "newcomer", "u3"]


def test_ratings_are_predicted_from_the_same_user_s_history() -> None:
    model = make_model("explicit")
    history, test = random_ratings(model, HISTORY_USERS, 1), random_ratings(model, TEST_USERS, 2)
    squares, sizes, overall, own = [], [], [], []
    for user in TEST_USERS:
        past = {} if user == "newcomer" else history.history(user)
        for item, rating in test.history(user).items():
            error = float(model.predict(past, [item])[0]) - rating
            squares.append(error**2)
            sizes.append(abs(error))
            overall.append((history.values.mean() - rating) ** 2)
            own.append(((np.mean(list(past.values())) if past else history.values.mean()) - rating) ** 2)
    scores = evaluate_ratings(model, history, test)
    assert scores.rmse == pytest.approx(np.sqrt(np.mean(squares)))
    assert scores.mae == pytest.approx(np.mean(sizes))
    assert scores.global_mean_rmse == pytest.approx(np.sqrt(np.mean(overall)))
    assert scores.user_mean_rmse == pytest.approx(np.sqrt(np.mean(own)))
    assert (scores.users, scores.ratings) == (5, test.n_ratings)


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_rankings_leave_the_query_out(feedback: str) -> None:
    model = make_model(feedback)
    query, target = random_ratings(model, HISTORY_USERS, 3), random_ratings(model, TEST_USERS, 4)
    recalls, shown = [], set()
    for user in TEST_USERS:
        past = {} if user == "newcomer" else query.history(user)
        best = model.recommend(past, 4).items
        wanted = set(target.history(user))
        recalls.append(len(set(best) & wanted) / min(4, len(wanted)))
        shown |= set(best)
    scores = evaluate_ranking(model, query, target, 4)
    assert scores.recall == pytest.approx(np.mean(recalls))
    assert scores.coverage == pytest.approx(len(shown) / 12)
    assert scores.users == 5
    assert 0.0 <= scores.ndcg <= 1.0


def test_popularity_counts_the_history_and_leaves_the_query_out() -> None:
    model = make_model("implicit")
    query = random_ratings(model, HISTORY_USERS, 5)
    ranking = baselines.popularity_ranking(query, query, 12, 4)
    counts = np.bincount(query.items, minlength=12)
    for row, user in zip(ranking, HISTORY_USERS, strict=True):
        seen = model.catalogue.index(list(query.history(user)))
        order = [item for item in np.argsort(-counts, kind="stable") if item not in seen]
        assert row.tolist() == order[:4]


def test_users_without_a_target_are_left_out() -> None:
    model = make_model("implicit")
    query, target = random_ratings(model, HISTORY_USERS, 6), random_ratings(model, HISTORY_USERS, 7)
    some = target.keep(np.repeat(np.arange(12) % 2 == 0, np.diff(target.indptr)))
    scores = evaluate_ranking(model, query, some, 1)
    even = evaluate_ranking(model, query, target.take_users(np.arange(0, 12, 2)), 1)
    assert scores == even
    assert scores.users == 6


def test_more_places_than_items() -> None:
    model = make_model("implicit")
    query, target = random_ratings(model, HISTORY_USERS, 8), random_ratings(model, HISTORY_USERS, 9)
    unseen = target.keep(
        ~np.isin(
            np.repeat(np.arange(12), np.diff(target.indptr)) * 12 + target.items,
            np.repeat(np.arange(12), np.diff(query.indptr)) * 12 + query.items,
        )
    )
    found = evaluate_ranking(model, query, unseen, 50)
    assert found.recall == pytest.approx(1.0)
    endless = evaluate_ranking(model, query, unseen, 10**14)
    assert (endless.recall, endless.ndcg) == (found.recall, found.ndcg)


def test_a_model_that_ranks_by_ratings_has_a_ranking_and_no_errors() -> None:
    """Its recall is that of its own scores, with the ratings as opinions."""
    made = make_model("implicit")
    side = replace(made.item_side, scale=RatingScale((1.0, 5.0)))
    model = Model(side, made.catalogue, Statement.not_private("by hand"), "by hand")
    query, target = random_ratings(model, HISTORY_USERS, 1), random_ratings(model, HISTORY_USERS, 2)
    with pytest.raises(SettingsInvalid, match="this model ranks; it does not predict ratings: train with"):
        evaluate_ratings(model, query, target)
    first = evaluate_ranking(model, query, target, 1)
    hits = [
        model.recommend(query.history(user), 1)[0].item in dict(target.history(user))
        for user in target.user_ids
    ]
    assert first.recall == pytest.approx(np.mean(hits))


def test_what_cannot_be_evaluated() -> None:
    explicit, implicit = make_model("explicit"), make_model("implicit")
    query = random_ratings(implicit, HISTORY_USERS, 1)
    with pytest.raises(SettingsInvalid, match="evaluate its lists"):
        evaluate_ratings(implicit, query, query)
    with pytest.raises(SettingsInvalid, match="at least 1"):
        evaluate_ranking(implicit, query, query, 0)
    with pytest.raises(HistoryInvalid, match="catalogue"):
        evaluate_ranking(explicit, query, query)
    strangers = random_ratings(implicit, ["x", "y"], 2)
    with pytest.raises(HistoryInvalid, match=r"none of the 2 test users has a history.*'x'.*'u0'"):
        evaluate_ranking(implicit, query, strangers)
