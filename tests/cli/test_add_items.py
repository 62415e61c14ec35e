"""``discreet add-items``."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from discreet.model import Model
from tests.cli.conftest import Run
from tests.conformance.runs import same
from tests.model.models import make_doubtful

ROWS = "item,title,genres,year,price\nnew-1,The first,War|Drama,2001,3\nnew-2,,Western,,4\n"


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.csv"
    path.write_text(ROWS)
    return path


def test_the_same_as_in_python(run: Run, doubtful_model: Path, items: Path, tmp_path: Path) -> None:
    out = tmp_path / "longer"
    result = run("add-items", doubtful_model, items, "--out", out, "--json")
    assert json.loads(result.stdout) == {"added": 2, "items": 14, "out": str(out)}
    table = {"genres": ["War|Drama", "Western"], "year": [2001, None]}
    expected = Model.load(doubtful_model).with_items(["new-1", "new-2"], table, {"new-1": "The first"})
    longer = Model.load(out)
    assert same(longer.item_side, expected.item_side)
    assert longer.catalogue.titles == expected.catalogue.titles
    mine = tmp_path / "mine.json"
    mine.write_text('{"item-2": 5}')
    listed = run("recommend", out, "--history", mine, "-n", 13).stdout
    assert "The first" in listed
    assert "guess: added after training" in listed
    assert "Next to" not in run("similar", out, "--item", "new-1").stdout
    assert "'new-1' was added after training" in run("similar", out, "--item", "new-1", "--json").stderr


def test_other_tables_and_ids(run: Run, tmp_path: Path) -> None:
    model = make_doubtful("implicit").save(tmp_path / "model")
    table = tmp_path / "items.csv"
    table.write_text("sku,genres,year\n7,War,1999\n8,Drama,\n,,\n")
    out = tmp_path / "longer"
    result = run("add-items", model, table, "--out", out, "--catalogue-column", "sku")
    assert "2 items added, 14 in all" in result.stdout
    assert Model.load(out).catalogue.ids[-2:].tolist() == [7, 8]
    frame = pl.DataFrame({"item": [5], "genres": [["War", "Drama"]], "year": [1999]})
    frame.write_parquet(tmp_path / "items.parquet")
    again = run("add-items", out, tmp_path / "items.parquet", "--out", out, "--force", "--json")
    assert json.loads(again.stdout)["items"] == 15
