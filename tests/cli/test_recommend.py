"""``discreet recommend``, from every form a history can have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.catalogue import Catalogue
from discreet.model import Model
from tests.cli.conftest import Run
from tests.model.models import make_model

HISTORY = {"item-2": 5.0, "item-9": 1.5}


def expected(model: Path, n: int, history: Any = HISTORY, **choice: Any) -> dict[str, Any]:
    return Model.load(model).recommend(history, n, **choice).to_dict()


@pytest.mark.parametrize("form", ["csv", "parquet", "ndjson", "json"])
def test_one_person_s_file(run: Run, explicit_model: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"mine.{form}"
    frame = pl.DataFrame({"item": list(HISTORY), "rating": list(HISTORY.values())})
    if form == "json":
        path.write_text(json.dumps(HISTORY))
    else:
        getattr(frame, f"write_{form}")(path)
    content = json.loads(run("recommend", explicit_model, "--history", path, "-n", 3, "--json").stdout)
    assert content == {"user": None, **expected(explicit_model, 3)}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_one_person_s_choices(run: Run, implicit_model: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"mine.{form}"
    path.write_text("[10, 30]" if form == "json" else "item_id\n10\n30\n")
    content = json.loads(run("recommend", implicit_model, "--history", path, "-n", 3, "--json").stdout)
    assert content == {"user": None, **expected(implicit_model, 3, [10, 30])}


@pytest.fixture
def everyone(tmp_path: Path) -> Path:
    """Two people: 7 is the one above, 8 has rated everything but item-0."""
    rows = [(7, item, rating) for item, rating in HISTORY.items()]
    rows += [(8, f"item-{j}", 3.0) for j in range(1, 12)]
    path = tmp_path / "everyone.csv"
    pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row").write_csv(path)
    return path


def test_many_people(run: Run, explicit_model: Path, everyone: Path) -> None:
    content = json.loads(run("recommend", explicit_model, "--history", everyone, "-n", 3, "--json").stdout)
    seven, eight = content["users"]
    alone = expected(explicit_model, 3)["recommendations"]
    assert seven["user"] == 7
    assert [entry["item"] for entry in seven["recommendations"]] == [entry["item"] for entry in alone]
    assert [entry["item"] for entry in eight["recommendations"]] == ["item-0"]
    assert eight["shortfall"] == 2


def test_one_of_many(run: Run, explicit_model: Path, everyone: Path) -> None:
    arguments = ("recommend", explicit_model, "--history", everyone, "--user", "7", "-n", 3)
    assert json.loads(run(*arguments, "--json").stdout) == {"user": "7", **expected(explicit_model, 3)}
    assert "predicted rating" in run(*arguments).stdout


def test_a_batch_to_parquet(run: Run, explicit_model: Path, everyone: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    result = run("recommend", explicit_model, "--history", everyone, "-n", 3, "--out", out, "--json")
    assert json.loads(result.stdout) == {"out": str(out), "rows": 6, "shortfall": 2}
    assert pl.read_parquet(out)["user"].to_list() == [7, 7, 7, 8, 8, 8]
    single = run("recommend", explicit_model, "--history", everyone, "--user", 7, "-n", 3, "--out", out)
    assert single.exit_code == 0
    assert pl.read_parquet(out)["item"].to_list() == pl.read_parquet(out)["item"].drop_nulls().to_list()


def test_ids_and_titles_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    """Square brackets and colons are no markup and no pictures."""
    titles = ["Seven [director's cut]", "[red]", "Brat [bold]", ":smile:", "[/b]"]
    ids = [f"{title} {number}" for number, title in enumerate(titles)]
    made = make_model("explicit")
    catalogue = Catalogue(
        [*ids, *made.catalogue.ids[len(ids) :].tolist()], dict(zip(ids, titles, strict=True))
    )
    model = replace(made, catalogue=catalogue).save(tmp_path / "odd")
    mine, ours = tmp_path / "mine.json", tmp_path / "ours.csv"
    mine.write_text(json.dumps({"item-9": 5.0}))
    ours.write_text("user,item,rating\n[/i] me,item-9,5\n")
    alone = run("recommend", model, "--history", mine, "-n", "11")
    many = run("recommend", model, "--history", ours, "-n", "11")
    like = run("similar", model, "--item", ids[4], "-n", "11")
    for shown, number in ((alone, 5), (many, 5), (like, 4)):
        assert shown.exit_code == 0
        assert sum(item in shown.stdout for item in ids[:number]) == number
    assert all(title in alone.stdout.replace(item, "") for title, item in zip(titles, ids, strict=True))
    assert "[/i] me" in many.stdout
    assert f"Like {ids[4]}" in like.stdout


def test_unknown_items_can_be_dropped(run: Run, explicit_model: Path, tmp_path: Path) -> None:
    mine, lost = tmp_path / "mine.json", tmp_path / "lost.csv"
    mine.write_text(json.dumps({**HISTORY, "ghost": 2}))
    arguments = ("--unknown-items", "drop", "-n", 3, "--json")
    content = json.loads(run("recommend", explicit_model, "--history", mine, *arguments).stdout)
    assert content["ignored"] == 1
    lost.write_text("user,item,rating\n1,ghost,3\n2,item-2,4\n")
    users = json.loads(run("recommend", explicit_model, "--history", lost, *arguments).stdout)["users"]
    assert [entry["item"] for entry in users[0]["recommendations"]] == [
        entry["item"] for entry in expected(explicit_model, 3, {})["recommendations"]
    ]


def test_who_gets_the_same_order_as_everybody_is_told(run: Run, everyone: Path, tmp_path: Path) -> None:
    flat = make_model("explicit", rank=0).save(tmp_path / "flat")
    said = "This model has no taste directions: everybody gets the same order"
    many = ("recommend", flat, "--history", everyone, "-n", 3)
    for arguments in (many, (*many, "--user", 7)):
        assert run(*arguments).stdout.count(said) == 1
        result = run(*arguments, "--json")
        json.loads(result.stdout)
        assert said in result.stderr
