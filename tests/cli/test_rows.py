"""``discreet train`` on files with bad rows: nobody decides whether there is a model, nor is told who was left out."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.model import Model
from tests.cli.conftest import Run

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
BUDGET = ("--epsilon", 5, "--delta", "1e-4", "--method", "item-mean")
BAD = "7,item-0001,6\n7,ghost,3\n7,item-0002,\n,item-0002,3\n"


def test_bad_rows_are_left_out_and_counted_for_the_holder_alone(run: Run, shop: Path, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    rows = (shop / "train.csv").read_text()
    ratings.write_text(rows + BAD)
    asked = (
        "train",
        ratings,
        *COLUMNS,
        "--catalogue",
        shop / "items.csv",
        *BUDGET,
        "--out",
        tmp_path / "model",
    )
    result = run(*asked, "--json")
    assert result.exit_code == 0
    assert result.stderr.startswith("For you alone: 4 of ")
    content = json.loads(result.stdout)
    assert content["private"] is True
    assert content["holder"]["dropped"] == 4
    assert content["holder"]["ratings"] == len(rows.splitlines()) - 1
    assert "clipped" not in content["holder"]
    clipped = json.loads(run(*asked, "--out-of-range", "clip", "--force", "--json").stdout)
    assert (clipped["holder"]["dropped"], clipped["holder"]["clipped"]) == (3, 1)
    statement = Model.load(tmp_path / "model").statement
    assert any("nearer end" in entry for entry in statement.domain)
    for rule in ("--missing", "--out-of-range", "--unknown-items"):
        refused = run(*asked, rule, "error", "--force", "--json")
        assert (refused.exit_code, refused.stdout) == (2, "")


def test_what_may_be_published_has_no_count(run: Run, shop: Path, tmp_path: Path) -> None:
    """The same but for noise, whether rows were left out or not: the model's folder, and the JSON beside `holder`."""
    shown = []
    for number, more in enumerate(("", BAD)):
        ratings, out = tmp_path / f"{number}.csv", tmp_path / f"model-{number}"
        ratings.write_text((shop / "train.csv").read_text() + more)
        asked = (
            "train",
            ratings,
            *COLUMNS,
            "--catalogue",
            shop / "items.csv",
            *BUDGET,
            "--out",
            out,
            "--json",
        )
        content = json.loads(run(*asked).stdout)
        del content["holder"]
        statement = json.loads((out / "statement.json").read_text())
        assert len(statement.pop("run")) == 32, "drawn for each run anew"
        shown.append((content, statement, (out / "model.json").read_text()))
    assert shown[0] == shown[1]
