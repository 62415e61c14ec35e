"""A catalogue carries features of its items, through files, ratings, methods and saved models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import ALS, DPALS, Budget, BudgetedALS, Catalogue, Model, Ratings, UserMean, devices
from discreet.catalogue import ItemFeatures
from discreet.data.synthetic import market
from discreet.errors import CatalogueInvalid, SettingsInvalid
from discreet.methods.tuning import tune

ITEMS = 40
TABLE = {
    "title": [f"word{k // 2} number{k // 3} ({1990 + k % 9})" for k in range(ITEMS)],
    "genres": [("drama|war", "comedy", "war", None)[k % 4] for k in range(ITEMS)],
}
BUDGET = Budget(5.0, 1e-4)


@pytest.fixture(scope="module")
def plain() -> Ratings:
    return market(200, ITEMS, 2_000, rng=1)


@pytest.fixture(scope="module")
def ratings(plain: Ratings) -> Ratings:
    """A market whose items have features."""
    assert plain.catalogue is not None
    return plain.with_catalogue(Catalogue(plain.catalogue.ids, features=TABLE))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "items.csv"
    pl.DataFrame({"item": range(ITEMS), **TABLE}).write_csv(path)
    return path


def test_a_catalogue_takes_columns_frames_matrices_and_features() -> None:
    ids = range(ITEMS)
    columns, frame = Catalogue(ids, features=TABLE), Catalogue(ids, features=pl.DataFrame(TABLE))
    made = Catalogue(ids, features=ItemFeatures.learn(TABLE))
    assert columns.features is not None
    assert columns.features.names == ("genres", "title")
    for other in (frame, made):
        assert other.features is not None
        assert other.features.digest == columns.features.digest
    matrix = Catalogue(ids, features=np.random.default_rng(0).normal(size=(ITEMS, 3)))
    assert matrix.features is not None
    assert matrix.features.groups == ("embedding",)
    assert Catalogue(ids).features is None
    with pytest.raises(CatalogueInvalid, match="features of 40 items in a catalogue of 3"):
        Catalogue(range(3), features=TABLE)


@pytest.mark.parametrize(
    "wanted", ["title,genres", ["genres", "title:text"], {"genres": "tags", "title": None}]
)
def test_a_file_names_its_features(file: Path, wanted: Any) -> None:
    catalogue = Catalogue.from_file(file, features=wanted)
    assert catalogue.features is not None
    assert catalogue.features.digest == ItemFeatures.learn(TABLE).digest
    assert catalogue.features.encoder.kinds == {"genres": "tags", "title": "text"}
    assert catalogue.titles[3] == TABLE["title"][3]
    assert Catalogue.from_file(file).features is None


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("genre", "no column 'genre' for the features; there are item, title, genres"),
        ("genres:colour", "one of number, .*, not 'colour'"),
        ({"genres": "colour"}, "one of number, .*, not 'colour'"),
        (" , ", "no feature is named"),
        ("title:number", "'title' has nothing to read as number"),
    ],
)
def test_features_that_a_file_does_not_have_are_refused(file: Path, wanted: Any, message: str) -> None:
    with pytest.raises(CatalogueInvalid, match=message):
        Catalogue.from_file(file, features=wanted)


def test_a_loaded_model_can_encode_new_items(ratings: Ratings, tmp_path: Path) -> None:
    assert ratings.catalogue is not None
    model = BudgetedALS(rank=1, rounds=1).fit(ratings, BUDGET, rng=0).model_
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model").catalogue
    assert loaded.features is None
    assert loaded.feature_encoder == ratings.catalogue.feature_encoder
    assert loaded.feature_encoder is not None
    row = loaded.feature_encoder.encode({"title": ["word1 (1991)"], "genres": ["war|drama"]})
    assert row.shape == (1, len(loaded.feature_encoder.group_of))
    assert row.nnz > 3
    assert loaded.to_json() == ratings.catalogue.to_json()
    assert "features" not in Catalogue(range(3)).to_json()


@pytest.mark.parametrize(
    ("fit", "name"),
    [
        (lambda data: DPALS(rank=2).fit(data, BUDGET), "dpals"),
        (lambda data: UserMean().fit(data), "user-mean"),
        (lambda data: ALS(rank=2, rounds=1).fit(data), "als"),
        (lambda data: devices.fit(data, 4.0), "a task on devices"),
        (lambda data: tune(DPALS, {"rank": [2, 3]}, data, BUDGET), "dpals"),
    ],
)
def test_who_does_not_use_features_says_so(
    ratings: Ratings, fit: Callable[[Ratings], Any], name: str
) -> None:
    with pytest.raises(SettingsInvalid, match=f"{name} does not use item features; leave out --features"):
        fit(ratings)
