"""``train --start``: an earlier model as the start and the prior."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

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
    assert told["started_from"] == [april.digest]
    assert told["epsilon"] == 5.0
    assert told["epsilon_in_all"] > 5.0
    assert april.digest[:16] in str(Model.load(tmp_path / "may").statement)
    public = json.loads(
        run(
            *data, "--start", tmp_path / "april", "--start-is-public", "--out", tmp_path / "june", "--json"
        ).stdout
    )
    assert "started_from" not in public


def test_what_has_no_use_for_a_start_refuses_it(
    refused: Refused, run: Run, shop: Path, tmp_path: Path
) -> None:
    data = ("train", shop / "train.csv", *RATED, "--catalogue", shop / "items.csv")
    run(*data, *SMALL, "--out", tmp_path / "april")
    start = ("--start", tmp_path / "april", "--out", tmp_path / "may")
    assert "does not start from an earlier model" in refused(*data, "--method", "als", *start)
    assert "does not start from an earlier model" in refused(
        *data, "--method", "dpals", "--epsilon", 1, "--delta", "1e-4", *start
    )
    assert "--start, which is missing" in refused(
        *data, *SMALL, "--start-is-public", "--out", tmp_path / "may"
    )
