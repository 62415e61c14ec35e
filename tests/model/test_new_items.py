"""Items that a model was not trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.catalogue import Catalogue
from discreet.errors import CatalogueInvalid, ModelInvalid
from discreet.model import Model
from discreet.model.fold_in import OwnMean
from tests.conformance.runs import same
from tests.model.models import make_doubtful

NEW = {"genres": ["War|Drama", None, "Western"], "year": [2001, None, 1993], "price": [1, 2, 3]}


def extended(feedback: str) -> tuple[Model, Model]:
    """A model, and the same with three items more."""
    model = make_doubtful(feedback)
    ids: list[Any] = ["new-1", "new-2", "new-3"] if feedback == "explicit" else [7, 8, 9]
    return model, model.with_items(ids, NEW, {ids[1]: "The second"})


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_new_items_are_what_their_features_say(feedback: str) -> None:
    old, new = extended(feedback)
    feature_map, encoder = old.item_side.feature_map, old.catalogue.feature_encoder
    assert feature_map is not None
    assert encoder is not None
    vectors = feature_map.base + encoder.encode(NEW).toarray() @ feature_map.weights
    np.testing.assert_allclose(new.item_side.offsets[12:], vectors[:, 0])
    np.testing.assert_allclose(new.item_side.factors[12:], vectors[:, 1:])
    np.testing.assert_allclose(vectors[1], feature_map.base)
    assert np.abs(vectors[0] - feature_map.base).max() > 0.1
    side = new.factors
    assert side.noise_ratio is not None
    assert side.added.tolist() == [False] * 12 + [True] * 3
    assert side.noise_ratio[12:].tolist() == [feature_map.noise_ratio] * 3
    assert new.item_side.popularity is not None
    assert new.item_side.popularity[12:].tolist() == [0.0] * 3


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_old_items_stay_as_they_are_for_everybody(feedback: str) -> None:
    old, new = extended(feedback)
    assert new.catalogue.ids[:12].tolist() == old.catalogue.ids.tolist()
    for name in ("offsets", "factors", "popularity"):
        assert np.array_equal(getattr(new.item_side, name)[:12], getattr(old.item_side, name))
    history: Any = {"item-2": 5.0, "item-9": 1.5} if feedback == "explicit" else [20, 90]
    before = old.recommend(history, 12)
    after = new.recommend(history, 12, allowed=old.catalogue.ids)
    assert before == after


def test_new_items_are_marked_wherever_they_are_listed() -> None:
    _, new = extended("explicit")
    found = {entry.item: entry for entry in new.recommend({}, 15)}
    assert found["new-1"].mark == "guess"
    assert found["new-2"].title == "The second"
    assert found["item-3"].title == "Third of its kind"
    assert not new.known(["new-1", "new-2"]).any()
    alike = new.similar("new-1", 3)
    assert "'new-1' was added after training" in alike.notes[0]
    assert new.recommend({"new-1": 5.0}, 3).items != new.recommend({}, 3).items


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_a_model_with_new_items_is_saved_whole_and_takes_more(feedback: str, tmp_path: Path) -> None:
    old, new = extended(feedback)
    back = Model.load(new.save(tmp_path / "model"))
    assert same(back.item_side, new.item_side)
    assert (back.catalogue, back.catalogue.titles) == (new.catalogue, new.catalogue.titles)
    assert back.statement == new.statement
    assert "3 items were added after training" in str(back.statement)
    assert back.statement.model_copy(update={"notes": ()}) == old.statement
    more: list[Any] = ["more"] if feedback == "explicit" else [1]
    frame = pl.DataFrame({"year": ["2003"], "genres": ["War"]})
    twice = back.with_items(more, frame)
    assert same(twice.item_side, new.with_items(more, frame).item_side)
    assert len(twice.catalogue) == 16
    assert len(twice.statement.notes) == 2
    assert twice.item_side.marks(np.arange(11, 16)) == [None, *["guess"] * 4]


REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "there already": ((["new", "item-3"], {"genres": ["War"] * 2, "year": [1, 2]}), "'item-3' is already in"),
    "twice": ((["new", "new"], {"genres": ["War"] * 2, "year": [1, 2]}), "repeats the id 'new'"),
    "none": (([], {"genres": [], "year": []}), "empty"),
    "no such column": ((["new"], {"genre": ["War"], "year": [1]}), "no column 'genres'"),
    "too few": (
        (["new", "newer"], {"genres": ["War"], "year": [1]}),
        "features of 1 new items, and ids of 2",
    ),
    "a title of another": ((["new"], {"genres": ["War"], "year": [1]}, {"old": "x"}), "'old', which is not"),
    "an old title": (
        (["new"], {"genres": ["War"], "year": [1]}, {"item-1": "x"}),
        "'item-1', which is not in",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_items_that_cannot_be_added_are_refused_by_name(name: str) -> None:
    given, said = REFUSED[name]
    with pytest.raises(CatalogueInvalid, match=said):
        make_doubtful("explicit").with_items(*given)


def test_a_model_without_features_takes_no_items(explicit: Model) -> None:
    with pytest.raises(ModelInvalid, match="trained without item features"):
        explicit.with_items(["new"], {"genres": ["War"]})
    mapped = make_doubtful("explicit")
    blind = replace(mapped, catalogue=Catalogue(mapped.catalogue.ids))
    with pytest.raises(ModelInvalid, match="trained without item features"):
        blind.with_items(["new"], {"genres": ["War"], "year": [1]})


def test_a_feature_map_must_fit_the_model() -> None:
    model = make_doubtful("explicit")
    side, mapped = model.item_side, model.item_side.feature_map
    assert mapped is not None
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"feature_map": replace(mapped, weights=mapped.weights[:-1])}, "the catalogue's encoder makes"),
        ({"feature_map": replace(mapped, noise_ratio=-1.0)}, "noise_ratio is -1"),
        ({"noise_ratio": None}, "needs a noise_ratio"),
        ({"rule": OwnMean(np.ones(12))}, "OwnMean has a number of its own"),
    ]
    for change, said in wrong:
        with pytest.raises(ModelInvalid, match=said):
            replace(model, item_side=replace(side, **change))
