"""Small trained models with titles, saved, and the ratings they were trained and tested on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import discreet
from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.data.synthetic import market
from discreet.model import Model


@dataclass(frozen=True)
class Case:
    """A saved model, its ratings, and the same as files."""

    model: Model
    folder: Path
    train: Ratings
    test: Ratings
    files: tuple[Path, Path]


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    ratings = market(1_500, 120, 45_000, rng=3, lift=1.5)
    ids = ratings.catalogue.ids.tolist()  # type: ignore[union-attr]
    titled = ratings.with_catalogue(discreet.Catalogue(ids, {one: f"<b>Film</b> & {one}" for one in ids}))
    train, test = by_rating(titled, (0.9, 0.1), rng=0)
    place = tmp_path_factory.mktemp("reports")
    files = (_written(train, place / "train.csv"), _written(test, place / "test.csv"))
    found = {}
    methods = {"rate": discreet.BudgetedALS(rank=4), "rank": discreet.Popularity(), "table": discreet.EASE()}
    for goal, method in methods.items():
        model = method.fit(train, discreet.Budget(20.0, 1e-6), rng=0).model_
        found[goal] = Case(model, model.save(place / goal), train, test, files)
    return found


def _written(ratings: Ratings, file: Path) -> Path:
    owners = [
        one
        for one, n in zip(ratings.user_ids, ratings.indptr[1:] - ratings.indptr[:-1], strict=True)
        for _ in range(n)
    ]
    items = ratings.catalogue.ids[ratings.items]  # type: ignore[union-attr]
    pl.DataFrame({"user": owners, "item": items.tolist(), "rating": ratings.values}).write_csv(file)
    return file
