"""``discreet train`` with every method there is: the same options, and a clear word where one has no use for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.methods.registry import METHODS
from discreet.model import Model
from tests.cli.conftest import Run

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
BUDGET = ("--epsilon", 20, "--delta", "1e-4")
TRIVIAL = ("global-mean", "user-mean", "item-mean", "popularity")

Refused = Callable[..., str]


def arguments(shop: Path, out: Path, *more: object) -> tuple[object, ...]:
    catalogue = ("--catalogue", shop / "items.csv")
    return ("train", shop / "train.csv", *COLUMNS, *catalogue, *more, "--out", out, "--json")


def test_methods_are_registered_under_their_own_names() -> None:
    assert {name: method.method_name() for name, method in METHODS.items()} == {
        name: name for name in METHODS
    }


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_trained_and_served(run: Run, shop: Path, tmp_path: Path, method: str) -> None:
    budget = () if method == "als" else BUDGET
    result = run(*arguments(shop, tmp_path / "model", *budget, "--method", method))
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert (content["method"], content["private"]) == (method, method != "als")
    if method in TRIVIAL:
        assert content["rank"] == 0
        assert len(content["releases"]) == (0 if method == "user-mean" else 1)
    assert Model.load(tmp_path / "model").method == method
    history = ("--history", shop / "train.csv", "--rating-column", "stars", "--user", 1)
    found = json.loads(run("recommend", tmp_path / "model", *history, "-n", 4, "--json").stdout)
    assert len(found["recommendations"]) == 4


def test_the_users_own_mean_needs_no_budget(run: Run, refused: Refused, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    content = json.loads(run(*arguments(shop, out, "--method", "user-mean")).stdout)
    assert (content["epsilon"], content["delta"], content["mu"], content["rounds"]) == (0.0, 0.0, 0.0, 0)
    assert "nothing computed from ratings was released" in " ".join(str(Model.load(out).statement).split())
    other = tmp_path / "other"
    assert "--delta is missing" in refused(*arguments(shop, other, "--method", "user-mean", "--epsilon", 1))
    base = ("train", shop / "train.csv", *COLUMNS, "--method", "user-mean", "--out", other)
    assert "--epsilon is missing" in refused(*base, "--discover-items")
    assert "--catalogue FILE" in refused(*base)


@pytest.mark.parametrize("option", ["rank", "rounds"])
@pytest.mark.parametrize("method", TRIVIAL)
def test_options_a_method_does_not_have_are_refused(
    refused: Refused, shop: Path, tmp_path: Path, method: str, option: str
) -> None:
    message = refused(*arguments(shop, tmp_path / "model", *BUDGET, "--method", method, f"--{option}", 2))
    assert f"--method {method} has no {option}; leave --{option} out. Its settings: discover_share" in message
    assert list(tmp_path.iterdir()) == []


def test_means_without_ratings_are_refused(refused: Refused, shop: Path, tmp_path: Path) -> None:
    columns = ("--user", "user", "--item", "item", "--catalogue", shop / "items.csv")
    for method in TRIVIAL[:3]:
        base = ("train", shop / "train.csv", *columns, *BUDGET, "--method", method)
        assert f"{method} predicts ratings" in refused(*base, "--out", tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_papers_claim_is_printed_beside_what_is_owed(
    run: Run, refused: Refused, shop: Path, tmp_path: Path
) -> None:
    """The first column of the paper's table 4: claimed 1.001, owed 0.833 exactly and 1.115 by its own conversion."""
    preset = (
        "--method",
        "dpals",
        "--preset",
        "ml-10m-eps-1",
        "--rank",
        4,
        "--epsilon",
        1,
        "--delta",
        "1e-5",
    )
    out = tmp_path / "model"
    result = run(*arguments(shop, out, *preset, "--accounting", "paper"))
    content = json.loads(result.stdout)
    counted = {name: round(value, 3) for name, value in content["accounting"].items() if name != "delta"}
    assert counted == {"theorem_1": 0.625, "paper": 1.001, "owed_renyi": 1.115, "owed": 0.833}
    assert content["epsilon"] == pytest.approx(content["accounting"]["owed"])
    words = run(*arguments(shop, out, *preset, "--accounting", "paper", "--force")[:-1]).stdout
    assert all(number in words for number in ("0.6249", "1.001", "1.115", "0.8332"))  # rounded up
    assert "--method dpals" in refused(*arguments(shop, tmp_path / "other", *BUDGET, "--accounting", "paper"))
    assert "accounting" not in json.loads(run(*arguments(shop, out, *preset, "--force")).stdout)
