"""``train --start``: an earlier model as the start and the prior."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from discreet.model import Model
from tests.cli.conftest import Run

Refused = Callable[..., str]

RATED = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
SMALL = ("--epsilon", 5, "--delta", "1e-4", "--rank", 2, "--rounds", 2)


def test_the_second_model_names_the_first_and_says_what_both_cost(run: Run, shop: Path) -> None:
    data = ("train", shop / "ratings.csv", *RATED, "--catalogue", shop / "items.csv", *SMALL, "--seed", 1)
    run(*data, "--out", shop / "april")
    told = json.loads(run(*data, "--start", shop / "april", "--out", shop / "may", "--json").stdout)
    april = Model.load(shop / "april")
    assert told["started_from"] == [april.digest]
    assert told["epsilon"] == 5.0
    assert told["epsilon_in_all"] > 5.0
    assert april.digest[:16] in run("statement", shop / "may").stdout
    public = json.loads(
        run(*data, "--start", shop / "april", "--start-is-public", "--out", shop / "june", "--json").stdout
    )
    assert "started_from" not in public


def test_what_has_no_use_for_a_start_refuses_it(refused: Refused, run: Run, shop: Path) -> None:
    data = ("train", shop / "ratings.csv", *RATED, "--catalogue", shop / "items.csv")
    run(*data, *SMALL, "--out", shop / "april")
    start = ("--start", shop / "april", "--out", shop / "may")
    assert "does not start from an earlier model" in refused(*data, "--method", "als", *start)
    assert "does not start from an earlier model" in refused(
        *data, "--method", "dpals", "--epsilon", 1, "--delta", "1e-4", *start
    )
    assert "--start, which is missing" in refused(*data, *SMALL, "--start-is-public", "--out", shop / "may")
    assert "trained to rank" in refused(*data, "--goal", "rate", "--epsilon", 5, "--delta", "1e-4", *start)
