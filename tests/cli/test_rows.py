"""``discreet train`` on rows that cannot be used and from an earlier model: what is said, to whom, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

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


def test_a_split_by_time_reads_dates_and_does_not_sort_texts(run: Run, shop: Path, tmp_path: Path) -> None:
    days = pl.date_range(pl.date(2019, 1, 1), pl.date(2021, 12, 31), eager=True)
    frame = pl.DataFrame({"user": ["a", "b"] * (len(days) // 2), "day": days.dt.strftime("%d.%m.%Y")})
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "r.csv")
    split = ("split", tmp_path / "r.csv", "--user", "user", "--time", "day", "--out", tmp_path / "parts")
    refused = run(*split, "--by", "time")
    assert refused.exit_code == 2
    assert "--time-format" in refused.stderr
    assert not (tmp_path / "parts").exists()
    assert run(*split, "--by", "time", "--time-format", "%d.%m.%Y").exit_code == 0
    train, test = (
        pl.read_csv(tmp_path / "parts" / f"{name}.csv")["day"].str.to_date("%d.%m.%Y")
        for name in ("train", "test")
    )
    assert train.max() < test.min()  # type: ignore[operator]


Refused = Callable[..., str]

RATE = ("--epsilon", 5, "--delta", "1e-4", "--goal", "rate", "--rank", 2, "--rounds", 2)


def test_the_second_model_names_the_first_and_says_what_both_cost(
    run: Run, shop: Path, tmp_path: Path
) -> None:
    data = ("train", shop / "train.csv", *COLUMNS, "--catalogue", shop / "items.csv", *RATE, "--seed", 1)
    run(*data, "--out", tmp_path / "april")
    told = json.loads(run(*data, "--start", tmp_path / "april", "--out", tmp_path / "may", "--json").stdout)
    april = Model.load(tmp_path / "april")
    assert [run["model"] for run in told["earlier_runs"]] == [april.digest]
    assert told["this_run"]["epsilon"] == 5.0
    assert told["epsilon"] > 5.0
    assert april.digest[:16] in str(Model.load(tmp_path / "may").statement)
    public = json.loads(
        run(
            *data, "--start", tmp_path / "april", "--start-is-public", "--out", tmp_path / "june", "--json"
        ).stdout
    )
    assert "earlier_runs" not in public
    assert public["epsilon"] == 5.0


def test_a_start_that_knows_few_of_the_items_is_said(run: Run, shop: Path, tmp_path: Path) -> None:
    data = ("train", shop / "train.csv", *COLUMNS, *RATE[:4], "--seed", 1, "--catalogue")
    whole = shop / "items.csv"
    run(*data, whole, "--out", tmp_path / "april")
    ids = whole.read_text().splitlines()
    longer = tmp_path / "longer.csv"
    longer.write_text("\n".join([*ids, *(f"new-{place}" for place in range(2 * len(ids)))]) + "\n")
    assert (
        "--start knows"
        not in run(*data, whole, "--start", tmp_path / "april", "--out", tmp_path / "may").stderr
    )
    told = run(*data, longer, "--start", tmp_path / "april", "--out", tmp_path / "june").stderr
    assert f"--start knows {len(ids) - 1} of these" in told


def test_a_catalogue_that_a_run_found_is_taken_from_its_model_with_its_price(
    run: Run, refused: Refused, shop: Path, tmp_path: Path
) -> None:
    data = ("train", shop / "train.csv", *COLUMNS, "--method", "item-mean", "--delta", "1e-4", "--seed", 1)
    run(*data, "--discover-items", "--epsilon", 20, "--out", tmp_path / "april")
    again = (*data, "--catalogue", tmp_path / "april", "--unknown-items", "drop", "--epsilon", 1)
    told = json.loads(run(*again, "--out", tmp_path / "may", "--json").stdout)
    assert told["this_run"]["epsilon"] == pytest.approx(1.0)
    assert [run["part"] for run in told["earlier_runs"]] == ["catalogue"]
    assert told["epsilon"] > told["earlier_runs"][0]["epsilon"] > 1.0
    said = str(Model.load(tmp_path / "may").statement)
    assert "the item catalogue" not in said
    run("ledger", "cap", tmp_path / "shop.ledger", "--epsilon", 3, "--delta", "1e-4")
    kept = ("--ledger", tmp_path / "shop.ledger", "--out", tmp_path / "june")
    assert "which the new model carries" in refused(*again, *kept)
