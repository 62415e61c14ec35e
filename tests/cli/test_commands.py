"""The commands that say something of a model or a budget: budget, similar, add-items, export, demo."""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from discreet import ALS, Budget, Popularity
from discreet.cli import demo
from discreet.data.synthetic import market
from discreet.model import Model
from discreet.privacy.accounting import epsilon_from
from tests.cli.conftest import Run
from tests.conformance.runs import same
from tests.model.models import make_doubtful


def test_the_plan_spends_exactly_the_budget(run: Run) -> None:
    result = run("budget", "--epsilon", "1", "--delta", "1e-5", "--releases", "7", "--json")
    plan = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert plan["mu_per_release"] * math.sqrt(7) == pytest.approx(plan["mu"])
    assert plan["noise_multiplier"] == pytest.approx(1 / plan["mu_per_release"])
    assert epsilon_from(plan["mu"], 1e-5) == pytest.approx(1.0)
    assert 1 / plan["renyi"]["noise_ratio"] == pytest.approx(
        0.76, abs=0.005
    )  # the ratio the papers' bound leaves
    assert plan["renyi"]["epsilon_of_mu"] > 1.0


def test_similar_items_are_those_of_python(run: Run, implicit_model: Path) -> None:
    content = json.loads(run("similar", implicit_model, "--item", "30", "-n", "4", "--json").stdout)
    found = Model.load(implicit_model).similar(30, 4)
    assert content == {"item": "30", **found.to_dict()}


def test_what_is_not_known_is_said(run: Run, doubtful_model: Path) -> None:
    sure = run("similar", doubtful_model, "--item", "item-4", "-n", "11")
    assert "unknown: next to nothing is known about this item." in sure.stdout
    assert sum("│ unknown" in line for line in sure.stdout.splitlines()) == 1
    assert "item-4:" not in sure.stdout
    warned = run("similar", doubtful_model, "--item", "item-5")
    assert "Next to nothing is known about 'item-5'" in warned.stdout
    silent = run("similar", doubtful_model, "--item", "item-5", "--json")
    assert json.loads(silent.stdout)["item"] == "item-5"
    assert "Next to nothing is known about 'item-5'" in silent.stderr
    assert run("similar", doubtful_model, "--item", "item-4", "--json").stderr == ""


ROWS = "item,title,genres,year,price\nnew-1,The first,War|Drama,2001,3\nnew-2,,Western,,4\n"


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.csv"
    path.write_text(ROWS)
    return path


def test_items_are_added_as_in_python(run: Run, doubtful_model: Path, items: Path, tmp_path: Path) -> None:
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


def test_the_card_of_a_model_that_is_not_private_promises_nothing(run: Run, tmp_path: Path) -> None:
    ratings = market(60, 20, 300, rng=0)
    for name, model in (
        ("exact", ALS(rank=2, rounds=1).fit(ratings, rng=0).model_),
        ("private", Popularity().fit(ratings, Budget(5.0, 1e-6)).model_),
    ):
        model.save(tmp_path / name)
        run("export", "card", tmp_path / name, "--out", tmp_path / f"{name}.md")
        told = (tmp_path / f"{name}.md").read_text()
        assert ("neither are exact counts" in told) == (name == "private")
        assert ("may give ratings, and exact counts of them, away" in told) == (name == "exact")


def _seconds() -> float:
    """Processor time of processes that have ended, which other work on the machine hardly changes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
def test_the_whole_demo() -> None:
    before = _seconds()
    command = [sys.executable, "-m", "discreet", "demo", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert _seconds() - before < 60
    content = json.loads(done.stdout)
    recall = {row["method"]: row["recall@20"] for row in content["comparison"]}
    five, one = recall["private, epsilon 5"], recall["private, epsilon 1"]
    # The noise is fresh, and moves recall a little.
    assert recall["popularity, not private"] * 0.98 < one < five * 1.02
    assert content["statement"]["goal"] == "rank"
    assert content["statement"]["private"] is True
    assert content["statement"]["epsilon"] <= 1.0
    assert len(content["recommendations"]) == 5
    assert not {entry["item"] for entry in content["recommendations"]} & set(demo.NEWCOMER)


def test_for_people(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("USERS", 700), ("RATINGS", 20_000)):
        monkeypatch.setattr(demo, name, size)
    text = run("demo").stdout
    for part in (
        "popularity, not private",
        "recall@20",
        "trained to rank",
        "private, epsilon 1",
        "Privacy statement",
        "For the newcomer",
        "item-0007 5",
    ):
        assert part in text
