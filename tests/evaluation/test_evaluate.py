"""``discreet.evaluate`` against one person, one row at a time."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.catalogue import RatingScale
from discreet.data.ratings import Ratings
from discreet.errors import HistoryInvalid, SettingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.evaluation.protocol import relevance
from discreet.model import Model
from discreet.privacy.statement import Statement
from tests.evaluation import reference
from tests.model.models import make_model

K = 4


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


def two_parts(model: Model, seed: int = 0) -> tuple[Ratings, Ratings]:
    """A history and a test of twelve people, a newcomer and somebody without a test, with no row in both."""
    whole = random_ratings(model, [*HISTORY_USERS, "newcomer", "silent"], seed, most=11)
    owners = np.repeat(np.arange(whole.n_users), np.diff(whole.indptr))
    held_back = np.random.default_rng(seed).random(whole.n_ratings) < 0.6
    held_back[owners == 12] = True
    held_back[owners == 13] = False
    test = whole.keep(held_back)
    return whole.keep(~held_back), test.take_users(np.random.default_rng(1).permutation(14))


def popular(counts: dict[Any, int], model: Model, past: dict[Any, float]) -> list[Any]:
    """The most often met items that are not in the history, ties in the order of the catalogue."""
    ids = [item for item in model.catalogue.ids.tolist() if item not in past]
    return sorted(ids, key=lambda item: -counts.get(item, 0))[:K]


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_every_number_is_that_of_its_definition(feedback: str) -> None:
    model = make_model(feedback)
    history, test = two_parts(model)
    rows = history.to_polars()
    counts = dict(rows.group_by("item").len().iter_rows())
    people = rows["user"].n_unique()

    def score(item: Any, way: str, past: dict[Any, float]) -> float:
        return counts.get(item, 0) if way == "popularity" else float(model.predict(past, [item])[0])

    lists: dict[str, dict[Any, list[Any]]] = {"model": {}, "popularity": {}}
    expected: dict[str, dict[str, dict[Any, float]]] = {"model": {}, "popularity": {}}
    for user in test.user_ids.tolist():
        past, later = history.history(user), test.history(user)
        liked = [item for item, value in later.items() if feedback == "implicit" or value >= 4]
        disliked = [item for item, value in later.items() if feedback == "explicit" and value <= 2]
        for way, places in (
            ("model", model.recommend(past, K).items),
            ("popularity", popular(counts, model, past)),
        ):
            told: dict[str, float] = {}
            if liked:
                told |= reference.list_metrics(places, liked, K)
                told["novelty"] = reference.novelty(places, counts, people)
                lists[way][user] = places
            if disliked:
                told["disliked"] = reference.list_metrics(places, disliked, K)["recall"]
            if liked and disliked:
                scores = [[score(item, way, past) for item in some] for some in (liked, disliked)]
                told["auc"] = reference.auc(*scores)
            for name, value in told.items():
                at = name if name in ("mrr", "novelty", "auc") else f"{name}@{K}"
                expected[way].setdefault(at, {})[user] = value
    found = discreet.evaluate(model, test, history=history, k=K)
    for way, measured in (("model", found.metrics), ("popularity", found.popularity)):
        shown = {item for places in lists[way].values() for item in places}
        assert measured["coverage"].value == pytest.approx(len(shown) / len(model.catalogue))
        assert set(measured) - {"coverage", "rmse", "mae"} == set(expected[way])
        for name, values in expected[way].items():
            assert measured[name].value == pytest.approx(np.mean(list(values.values()))), (way, name)
            if name == f"ndcg@{K}":
                width = 2 * reference.half_width(list(values.values()))
                assert measured[name].high - measured[name].low == pytest.approx(width)
    each = {row["user"]: row for row in found.per_user.iter_rows(named=True)}
    assert list(each) == test.user_ids.tolist()
    for name, values in expected["model"].items():
        assert {user: row[name] for user, row in each.items() if row[name] is not None} == pytest.approx(
            values
        )
    assert found.holder.with_relevant == len(expected["model"]["mrr"]) < 14
    assert found.holder.with_disliked == len(expected["model"].get(f"disliked@{K}", {}))
    assert found.holder.with_both == len(expected["model"].get("auc", {}))
    assert found.notes == () or "worse than popularity" in found.notes[0]


def test_errors_are_of_all_rows_and_their_interval_is_of_people() -> None:
    model = make_model("explicit")
    history, test = two_parts(model)
    wrong = {
        user: [
            float(model.predict(history.history(user), [item])[0]) - value for item, value in later.items()
        ]
        for user in test.user_ids.tolist()
        if (later := test.history(user))
    }
    flat = np.concatenate(list(wrong.values()))
    found = discreet.evaluate(model, test, history=history, k=K)
    assert found["rmse"].value == pytest.approx(math.sqrt(np.mean(flat**2)))
    assert found["mae"].value == pytest.approx(np.mean(np.abs(flat)))
    assert found["rmse"].low < found["rmse"].value < found["rmse"].high
    assert found.global_mean is not None
    assert found.user_mean is not None
    each = dict(found.per_user.select("user", "mae").iter_rows())
    assert each["silent"] is None
    assert {user: value for user, value in each.items() if value is not None} == pytest.approx(
        {user: np.mean(np.abs(ones)) for user, ones in wrong.items()}
    )


@pytest.mark.parametrize(
    ("low", "high", "liked", "disliked"),
    [
        (1, 5, {4, 5}, {1, 2}),
        (0.5, 5, {3.5, 4, 4.5, 5}, {0.5, 1, 1.5, 2}),
        (1, 10, {7, 8, 9, 10}, {1, 2, 3, 4}),
    ],
)
def test_the_upper_two_fifths_are_liked_and_the_lower_two_disliked(
    low: float, high: float, liked: set[float], disliked: set[float]
) -> None:
    bounds, step = relevance(RatingScale((low, high))), 0.5 if low == 0.5 else 1.0
    grades = np.arange(low, high + step, step)
    assert bounds is not None
    assert set(grades[grades >= bounds[0]].tolist()) == liked
    assert set(grades[grades <= bounds[1]].tolist()) == disliked


def test_what_is_relevant_may_be_said() -> None:
    model = make_model("explicit")
    history, test = two_parts(model)
    every = discreet.evaluate(model, test, history=history, k=K, relevant=1)
    assert every.per_user["relevant"].to_list() == np.diff(test.indptr).tolist()
    assert every.per_user["disliked"].sum() == 0
    assert math.isnan(every["auc"].value)
    assert every.to_dict()["relevant"] == 1.0
    two = discreet.evaluate(model, test, history=history, k=K, relevant=2)
    assert two.per_user["disliked"].sum() == int((test.values == 1).sum())
    for wrong in (0.5, 6.0, math.nan):
        with pytest.raises(SettingsInvalid, match="outside the rating range 1 to 5"):
            discreet.evaluate(model, test, history=history, relevant=wrong)
    clicks = make_model("implicit")
    past, later = two_parts(clicks)
    with pytest.raises(SettingsInvalid, match="clicks"):
        discreet.evaluate(clicks, later, history=past, relevant=1)


@pytest.mark.parametrize(("setting", "size"), [("_BLOCK_USERS", 5), ("_BLOCK_PLACES", 3 * K)])
def test_a_block_of_people_at_a_time(setting: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model("explicit")
    history, test = two_parts(model)
    whole = discreet.evaluate(model, test, history=history, k=K)
    monkeypatch.setattr(f"discreet.evaluation.protocol.{setting}", size)
    steps: list[tuple[str, int, int]] = []
    parts = discreet.evaluate(model, test, history=history, k=K, progress=lambda *told: steps.append(told))
    assert len(steps) > 2
    assert steps[-1] == ("people", 14, 14)
    assert parts.per_user.equals(whole.per_user)
    for name, one in whole.metrics.items():
        assert parts[name].value == pytest.approx(one.value, rel=1e-12)


def test_a_test_that_is_the_history_is_told_of_in_a_sentence() -> None:
    model = make_model("implicit")
    history, test = two_parts(model)
    assert discreet.evaluate(model, test, history=history).holder.also_in_history == 0
    found = discreet.evaluate(model, history, history=history)
    assert found.holder.also_in_history == history.n_ratings
    assert f"{history.n_ratings} of {history.n_ratings} test rows are in the history too" in found.notes[0]
    assert found["recall@20"].value == 0.0
    swapped = history.take_users([1, 0, *range(2, 14)])
    assert discreet.evaluate(model, swapped, history=history).holder.also_in_history == history.n_ratings


def test_what_it_prints_and_what_it_says_in_json() -> None:
    model = make_model("explicit")
    history, test = two_parts(model)
    found = discreet.evaluate(model, test, history=history, k=K)
    text = str(found)
    # People and rows of the test, and no exact count of what they liked.
    assert text.startswith(f"{found.users:,} people, {found.ratings:,} test rows, lists of {K} without")
    for word in (
        f"recall@{K}",
        "95 % interval",
        "popularity",
        "auc",
        "rmse of user mean",
        "relevant: 3.4 and more",
    ):
        assert word in text
    told = json.loads(json.dumps(found.to_dict()))
    assert told[f"precision@{K}"] == found[f"precision@{K}"].value
    assert told["intervals"]["auc"] == [found["auc"].low, found["auc"].high]
    assert told["baselines"]["popularity"]["intervals"]["mrr"][0] == found.popularity["mrr"].low
    assert "rmse" not in told["baselines"]["popularity"]
    errors = discreet.evaluate(model, test, history=history, k=K, only="errors")
    assert errors.to_dict()[f"recall@{K}"] is None
    assert errors.to_dict()["baselines"]["popularity"]["auc"] is None
    assert "lists" not in str(errors)
    assert errors.per_user.columns == ["user", "relevant", "disliked", "rmse", "mae"]


def test_nothing_to_evaluate_and_what_cannot_be() -> None:
    model = make_model("implicit")
    history, test = two_parts(model)
    nobody = discreet.evaluate(model, test.take_users(slice(0, 0)), history=history)
    assert math.isnan(nobody["recall@20"].value)
    assert nobody.per_user.height == 0
    with pytest.raises(SettingsInvalid, match="at least 1"):
        discreet.evaluate(model, test, history=history, k=0)
    with pytest.raises(SettingsInvalid, match="predicts none; evaluate its lists"):
        discreet.evaluate(model, test, history=history, only="errors")
    with pytest.raises(HistoryInvalid, match="catalogue"):
        discreet.evaluate(make_model("explicit"), test, history=history)
    strangers = random_ratings(model, ["x", "y"], 2)
    with pytest.raises(HistoryInvalid, match=r"none of the 2 test users has a history.*'x'.*'u0'"):
        discreet.evaluate(model, strangers, history=history)


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
