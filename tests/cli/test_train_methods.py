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
