"""Commands on a model that is a table of weights: what is not for somebody, similar items, reasons, exports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.model import Model
from tests.cli.conftest import Run
from tests.web.support.models import make_model

SIGNED = {"film-3": 1, "film-20": 1, "film-41": -1}


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model("ClickTable").save(tmp_path_factory.mktemp("clicks") / "model")


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model("Table").save(tmp_path_factory.mktemp("rated") / "model")


def written(tmp_path: Path, content: Any, name: str = "mine.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def items_of(run: Run, *arguments: object) -> list[str]:
    return [one["item"] for one in json.loads(run(*arguments, "--json").stdout)["recommendations"]]


def test_what_is_not_for_somebody_is_said_in_four_ways(run: Run, clicks: Path, tmp_path: Path) -> None:
    expected = Model.load(clicks).recommend(["film-3", "film-20"], disliked=["film-41"])
    assert expected.items != Model.load(clicks).recommend(["film-3", "film-20", "film-41"]).items
    table = "item,liked\n" + "".join(f"{item},{sign}\n" for item, sign in SIGNED.items())
    everyone = "user,item,liked\n" + "".join(f"7,{item},{sign}\n" for item, sign in SIGNED.items())
    ways = (
        (written(tmp_path, ["film-3", "film-20"]), "--disliked", "film-41"),
        (written(tmp_path, SIGNED, "signed.json"),),
        (written(tmp_path, table, "mine.csv"), "--rating-column", "liked"),
        (written(tmp_path, everyone, "all.csv"), "--rating-column", "liked", "--user", "7"),
    )
    for history, *more in ways:
        assert items_of(run, "recommend", clicks, "--history", history, *more) == expected.items, history


def test_reasons_add_up_to_the_score(run: Run, clicks: Path, rated: Path, tmp_path: Path) -> None:
    ratings = {"film-3": 5.0, "film-20": 2.0, "film-41": 4.0}
    for model, history in ((clicks, ["film-3", "film-20"]), (rated, ratings)):
        path = written(tmp_path, history)
        arguments = ("explain", model, "--history", path, "--disliked", "film-50")
        told = json.loads(run(*arguments, "--json").stdout)
        parts = told["terms"]["offset"] + sum(one["total"] for one in told["history"])
        assert parts == pytest.approx(told["score"], abs=1e-6)
        assert any(one["total"] for one in told["history"])
        score = Model.load(model).predict(history, [told["item"]], disliked=["film-50"])[0]
        assert told["score"] == pytest.approx(score, abs=1e-9)
        shown = run(*arguments).stdout
        assert ("not for me" in shown) == (model == clicks)


def test_similar_items_have_the_deviation_of_the_noise(run: Run, clicks: Path) -> None:
    model = Model.load(clicks)
    place = int(np.argmax(np.diff(model.weights.starts)))
    item = model.catalogue.ids[place]
    content = json.loads(run("similar", clicks, "--item", item, "-n", 60, "--json").stdout)
    found = model.similar(item, 60)
    assert content == {"item": item, **found.to_dict()}
    assert [one["deviation"] for one in content["recommendations"]] == [one.deviation for one in found]
    assert all(one.score > 2 * (one.deviation or 0.0) > 0.0 for one in found)
    assert 0 < len(found) < np.diff(model.weights.starts)[place]  # the others do not stand out
    shown = run("similar", clicks, "--item", item, "-n", 60).stdout
    assert "± by noise" in shown
    assert "No more items stand out of the noise" in shown
    assert "no more items are left" not in shown


def test_a_table_goes_out_as_rows_and_not_as_factors(
    run: Run, refused: Callable[..., str], clicks: Path, tmp_path: Path
) -> None:
    told = json.loads(run("export", "table", clicks, "--out", tmp_path / "table.parquet", "--json").stdout)
    table = pl.read_parquet(tmp_path / "table.parquet")
    assert (told["rows"], table.columns) == (table.height, ["item", "other", "weight"])
    assert "exists" in refused("export", "table", clicks, "--out", tmp_path / "table.parquet")
