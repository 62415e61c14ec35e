"""What the model does not know: noise ratios, similarity that shrinks, items of which nothing was learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.catalogue import Catalogue, RatingScale
from discreet.errors import HistoryInvalid, ModelInvalid
from discreet.model import Model
from discreet.model.fold_in import OwnMean, Ridge
from discreet.model.item_side import ItemSide
from discreet.model.recommendations import SAME_ORDER
from discreet.privacy.statement import Statement
from tests.model.models import STATEMENT, make_doubtful, make_model

HISTORIES: dict[str, Any] = {"explicit": {"item-2": 5.0, "item-9": 1.5}, "implicit": [20, 90]}


@pytest.fixture(params=["explicit", "implicit"])
def doubtful(request: pytest.FixtureRequest) -> Model:
    return make_doubtful(request.param)


def history_of(model: Model) -> Any:
    return HISTORIES["explicit" if model.item_side.scale.explicit else "implicit"]


def test_a_model_without_doubt_marks_nothing(explicit: Model) -> None:
    assert explicit.known(["item-0", "item-5"]).all()
    assert {entry.mark for entry in explicit.recommend({}, 12)} == {None}


def test_an_item_is_unknown_when_nine_tenths_of_its_variance_are_left() -> None:
    model = make_doubtful("explicit")
    shares = np.linspace(0.0, 1.1, 12)
    shares[8:10] = 0.899, 0.901
    shares[10:] = 0.95, 0.999
    model = replace(model, item_side=replace(model.item_side, noise_ratio=shares))
    assert model.known([f"item-{j}" for j in range(12)]).tolist() == [True] * 9 + [False] * 3
    marks = {entry.item: entry.mark for entry in model.recommend({}, 12)}
    assert [marks[f"item-{j}"] for j in range(8, 12)] == [None, "unknown", "unknown", "unknown"]
    with pytest.raises(HistoryInvalid, match="'ghost'"):
        model.known(["ghost"])


def test_similarity_is_the_correlation_of_scores_over_people_and_over_what_is_not_known() -> None:
    model = make_doubtful("explicit")
    ratio, factors = model.factors.noise_ratio, model.factors.factors
    assert ratio is not None
    true = np.square(factors).sum() / (1.0 - ratio).sum()
    found = {entry.item: entry.score for entry in model.similar("item-4", 11)}
    held_back = np.sqrt(np.maximum(1.0 - (3.0 * ratio / (1.0 - ratio)) ** 2, 0.0))
    assert ((held_back > 0.3) & (held_back < 0.999)).any()
    spread = np.sqrt(np.square(factors).sum(axis=1) + ratio * true)
    for other in (7, 5):
        correlation = factors[4] @ factors[other] / (spread[4] * spread[other])
        expected = np.sqrt(held_back[4] * held_back[other]) * correlation
        assert found[f"item-{other}"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("left", "silent"), [(0.26, True), (0.24, False)])
def test_an_item_of_which_a_quarter_is_not_known_is_like_nothing_and_it_says_so(
    left: float, silent: bool
) -> None:
    """However long its factors are: those of thousands of items are long by chance."""
    model = make_doubtful("explicit")
    side = replace(model.item_side, factors=100.0 * model.item_side.factors)
    ratio = np.full(12, 1e-9)
    ratio[4] = left
    found = replace(model, item_side=replace(side, noise_ratio=ratio)).similar("item-4", 11)
    assert any("which items are like it" in note for note in found.notes) is silent
    assert any(entry.score != 0.0 for entry in found) is not silent
    other = replace(model, item_side=replace(side, noise_ratio=ratio)).similar("item-5", 11)
    assert not any("like it" in note for note in other.notes)
    assert ({entry.item: entry.score for entry in other}["item-4"] == 0.0) is silent


def test_a_query_of_which_nothing_is_known_is_answered_and_said_to_be() -> None:
    model = make_doubtful("explicit")
    assert model.similar("item-4").notes == ()
    found = model.similar("item-5")
    assert len(found) == 10
    assert "nothing is known about 'item-5'" in found.notes[0]
    assert "nothing is known about 'item-5'" in str(found)
    assert {entry.item: entry.mark for entry in model.similar("item-4", 11)}["item-5"] == "unknown"


def test_without_factors_everybody_gets_the_same_order_and_is_told() -> None:
    flat = make_model("explicit", rank=0)
    found = flat.recommend(HISTORIES["explicit"])
    assert found.notes == flat.notes == (SAME_ORDER,)
    assert "no taste directions" in str(found)
    assert make_model("explicit").recommend(HISTORIES["explicit"]).notes == ()
    leaning = OwnMean(np.arange(12) % 2.0)
    own = replace(flat, item_side=replace(flat.item_side, rule=leaning))
    low, high = (
        own.recommend({"item-0": 1.0}, exclude_seen=False),
        own.recommend({"item-0": 5.0}, exclude_seen=False),
    )
    assert low.items != high.items
    assert own.notes == ()


def test_a_guess_is_no_unknown_item_however_uncertain_it_is() -> None:
    made = make_model("explicit").factors
    side = replace(made, noise_ratio=np.linspace(0.0, 1.0, 12), guessed=np.arange(12) == 11)
    assert side.unknown.tolist() == [False] * 10 + [True, False]
    assert side.marks([11, 10, 0]) == ["guess", "unknown", None]


@pytest.mark.parametrize("ratio", [-0.1, 1.1])
def test_doubt_lies_between_0_and_1(ratio: float) -> None:
    model = make_doubtful("explicit")
    with pytest.raises(ModelInvalid, match="between 0 and 1"):
        replace(model, item_side=replace(model.item_side, noise_ratio=np.full(12, ratio)))


def test_a_model_that_says_nothing_has_no_doubt_either() -> None:
    side = ItemSide(RatingScale((1.0, 5.0)), 3.0, np.zeros(2), np.zeros((2, 0)), Ridge())
    catalogue, nothing = Catalogue(["a", "b"]), Statement.nothing_released()
    assert Model(side, catalogue, nothing, "by hand").item_side.same_for_all
    learnt = replace(side, noise_ratio=np.full(2, 0.95))
    assert Model(learnt, catalogue, STATEMENT, "by hand").known(["a"]).tolist() == [False]
    with pytest.raises(ModelInvalid, match="has learnt something"):
        Model(learnt, catalogue, nothing, "by hand")
