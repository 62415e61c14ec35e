"""``train --start``: an earlier model as the start and the prior."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.model import Model
from tests.cli.conftest import Run

Refused = Callable[..., str]

RATED = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
SMALL = ("--epsilon", 5, "--delta", "1e-4", "--goal", "rate", "--rank", 2, "--rounds", 2)


def test_the_second_model_names_the_first_and_says_what_both_cost(
    run: Run, shop: Path, tmp_path: Path
) -> None:
    data = ("train", shop / "train.csv", *RATED, "--catalogue", shop / "items.csv", *SMALL, "--seed", 1)
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


def test_a_catalogue_that_a_run_found_is_taken_from_its_model_with_its_price(
    run: Run, refused: Refused, shop: Path, tmp_path: Path
) -> None:
    data = ("train", shop / "train.csv", *RATED, "--method", "item-mean", "--delta", "1e-4", "--seed", 1)
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
