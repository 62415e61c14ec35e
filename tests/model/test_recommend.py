"""Recommendations against a plain computation over all items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import HistoryInvalid, ModelInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.fold_in import Clicks
from discreet.privacy.statement import Statement
from tests.model.models import make_model

HISTORY = {"item-2": 5.0, "item-9": 1.0, "item-4": 4.0}


def ordered_by_hand(model: Model, history: dict[str, float]) -> list[str]:
    """All unseen items, best first: the ridge solve and the scores written out."""
    side = model.item_side
    rows = [int(item.removeprefix("item-")) for item in history]
    features = np.hstack([np.ones((len(rows), 1)), side.factors[rows]])
    targets = np.array(list(history.values())) - side.centre - side.offsets[rows]
    curvature = np.diag([side.ridge.offset_penalty, *[side.ridge.factor_penalty] * side.rank])
    curvature += features.T @ features
    user = np.linalg.solve(curvature, features.T @ targets)
    scores = user[0] + side.factors @ user[1:] + side.offsets
    return [f"item-{j}" for j in np.argsort(-scores) if j not in rows]


def test_best_unseen_items_in_order(explicit: Model) -> None:
    found = explicit.recommend(HISTORY, 5)
    assert found.items == ordered_by_hand(explicit, HISTORY)[:5]
    assert found.shortfall == 0
    np.testing.assert_allclose([entry.score for entry in found], explicit.predict(HISTORY, found.items))


def test_items_above_the_range_are_still_told_apart(explicit: Model) -> None:
    """All predictions clip to 5 here; the order must come from what is behind the clip."""
    side = explicit.item_side
    high = replace(explicit, item_side=replace(side, offsets=side.offsets + 40.0))
    found = high.recommend({}, 12)
    assert [entry.score for entry in found] == [5.0] * 12
    assert found.items == [f"item-{j}" for j in np.argsort(-side.offsets)]


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
@pytest.mark.parametrize("rank", [0, 3])
def test_an_empty_history_gives_the_order_of_the_offsets(feedback: str, rank: int) -> None:
    model = make_model(feedback, rank=rank)
    if feedback == "implicit":  # the unseen items, as zeros, still pull on an empty history
        model = replace(model, item_side=replace(model.item_side, rule=Clicks(gravity=0.0)))
    best = np.argsort(-model.item_side.offsets)[:4]
    assert model.recommend([], 4).items == model.catalogue.ids[best].tolist()


def test_too_few_items_are_an_explicit_shortfall(explicit: Model) -> None:
    found = explicit.recommend(HISTORY, 20)
    assert (len(found), found.shortfall, found.requested) == (9, 11, 20)
    assert "11 of 20 missing" in str(found)


def test_filters_still_give_exactly_n(explicit: Model) -> None:
    everything = ordered_by_hand(explicit, HISTORY)
    without = explicit.recommend(HISTORY, 3, blocked=everything[:2])
    assert without.items == everything[2:5]
    only = explicit.recommend(HISTORY, 3, allowed=everything[4:8])
    assert only.items == everything[4:7]
    both = explicit.recommend(HISTORY, 3, allowed=everything[4:8], blocked=everything[4:6])
    assert both.items == everything[6:8]
    assert both.shortfall == 1
    assert explicit.recommend(HISTORY, 3, allowed=[]).shortfall == 3


def test_filters_with_unknown_ids_are_refused(explicit: Model) -> None:
    with pytest.raises(HistoryInvalid, match=r"the list of blocked items names 1 of 1.*'ghost'"):
        explicit.recommend(HISTORY, blocked=["ghost"])
    with pytest.raises(HistoryInvalid, match="allowed is a list of item ids, not one text"):
        explicit.recommend(HISTORY, allowed="item-1")


@pytest.mark.parametrize("n", [0, -1, True, 2.5, "3"])
def test_n_must_be_a_positive_whole_number(explicit: Model, n: object) -> None:
    with pytest.raises(SettingsInvalid, match="n must be"):
        explicit.recommend({}, n)  # type: ignore[arg-type]


def test_predictions_stay_in_the_range_and_scores_do_not_clip(explicit: Model, implicit: Model) -> None:
    steep = replace(explicit, item_side=replace(explicit.item_side, factors=explicit.item_side.factors * 30))
    predicted = steep.predict({"item-0": 5, "item-1": 1}, steep.catalogue.ids)
    assert predicted.min() >= 1.0
    assert predicted.max() <= 5.0
    assert implicit.predict([0, 10], [20, 30]).min() < 1.0


def test_similar_items_by_cosine_with_short_vectors_held_back(explicit: Model) -> None:
    factors = explicit.item_side.factors
    lengths = np.linalg.norm(factors, axis=1)
    usual = np.sqrt(np.mean(lengths**2))
    cosines = factors @ factors[4] / lengths / lengths[4]
    scores = cosines * np.minimum(lengths / usual, 1.0)
    order = [j for j in np.argsort(-scores) if j != 4]
    found = explicit.similar("item-4", 3)
    assert found.items == [f"item-{j}" for j in order[:3]]
    np.testing.assert_allclose([entry.score for entry in found], scores[order[:3]])
    assert explicit.similar("item-4", 30).shortfall == 19


def test_similar_needs_factors_and_a_known_item(explicit: Model) -> None:
    factors = explicit.item_side.factors.copy()
    factors[[1, 6]] = 0.0
    model = replace(explicit, item_side=replace(explicit.item_side, factors=factors))
    assert not {"item-1", "item-6"} & set(model.similar("item-4", 12).items)
    with pytest.raises(HistoryInvalid, match="no direction for 'item-6'"):
        model.similar("item-6")
    with pytest.raises(SettingsInvalid, match="rank 0"):
        make_model("explicit", rank=0).similar("item-4")
    with pytest.raises(HistoryInvalid, match="'ghost'"):
        explicit.similar("ghost")


def test_a_model_must_fit_together(explicit: Model) -> None:
    side = explicit.item_side
    with pytest.raises(ModelInvalid, match="catalogue has 12 items and the arrays have 11"):
        replace(explicit, item_side=replace(side, offsets=side.offsets[1:], factors=side.factors[1:]))
    with pytest.raises(ModelInvalid, match="trained to rate, but this one is there to rank"):
        replace(explicit, item_side=replace(side, rule=Clicks()))


def test_a_model_that_has_learnt_something_cannot_say_that_nothing_was_released() -> None:
    with pytest.raises(ModelInvalid, match="has learnt something"):
        replace(make_model("explicit"), statement=Statement.nothing_released())


def test_it_is_read_in_a_notebook(explicit: Model) -> None:
    found = explicit.recommend({}, 6)
    assert repr(found) == f"Recommendations(6 of 6: {', '.join(map(str, found.items[:5]))}, ...)"
    assert repr(explicit) == "Model(by hand, 1 to 5, goal rate, 12 items, rank 3)"
    assert repr(explicit.statement) == "Statement(not private: made by hand for a test)"
    assert "<table" in found._repr_html_()
    assert "<pre>Privacy statement" in explicit.statement._repr_html_()
