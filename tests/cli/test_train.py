"""``discreet train``: what it writes and what it says, with every method and with features."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from discreet.methods.registry import DEFAULTS
from discreet.model import Model
from tests.cli.conftest import Run

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
BUDGET = ("--epsilon", 5, "--delta", "1e-4")
SMALL = ("--rank", 2, "--rounds", 2)
RATE = ("--goal", "rate", *SMALL)


def read(stdout: str) -> dict[str, object]:
    """The one JSON object on stdout."""
    assert stdout.count("\n") == 1
    content = json.loads(stdout)
    assert isinstance(content, dict)
    return content


def test_a_private_model(run: Run, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    catalogue = ("--catalogue", shop / "items.csv")
    result = run("train", shop / "train.csv", *COLUMNS, *catalogue, *BUDGET, *RATE, "--out", out, "--json")
    content = read(result.stdout)
    assert list(content) == [
        "method",
        "goal",
        "rank",
        "rounds",
        "epsilon",
        "delta",
        "mu",
        "releases",
        "private",
        "holder",
    ]
    holder = content["holder"]
    assert isinstance(holder, dict)
    assert list(holder) == ["users", "items", "ratings", "dropped", "merged", "seconds", "peak_rss_mb"]
    assert (content["method"], content["rank"], content["rounds"]) == ("budgeted", 2, 2)
    assert (holder["items"], content["private"], content["delta"]) == (40, True, 1e-4)
    assert 0 < content["epsilon"] <= 5  # type: ignore[operator]
    assert holder["seconds"] > 0
    assert 50 < holder["peak_rss_mb"] < 20_000
    statement = Model.load(out).statement
    assert content["mu"] == statement.mu
    releases = [{"name": release.name, "mu": release.mu} for release in statement.releases]
    assert content["releases"] == releases
    assert len(releases) >= 3
    assert result.stderr == ""


def test_for_people(run: Run, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    text = run(
        "train", shop / "train.csv", *COLUMNS, "--catalogue", shop / "items.csv", *BUDGET, *RATE, "--out", out
    ).stdout
    assert f"Saved to {out}" in text
    told, own = text.split("For you alone")
    assert "Privacy statement" in told
    for word in ("users", "ratings", "seconds", "peak rss mb", "dropped"):
        assert re.search(rf"^  {word} +[\d,.]+$", own, re.MULTILINE), word
        assert not re.search(rf"│ {word} ", told)


def test_discovered_items(run: Run, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    arguments = ("--epsilon", 20, "--delta", "1e-3", *RATE, "--discover-items", "0.3", "--out", out, "--json")
    content = read(run("train", shop / "train.csv", *COLUMNS, *arguments).stdout)
    assert 0 < content["holder"]["items"] < 40  # type: ignore[index]
    assert content["private"] is True
    flag_alone = ("--discover-items", "--force", "--epsilon", 20, "--delta", "1e-3", *RATE, "--out", out)
    assert run("train", shop / "train.csv", *COLUMNS, *flag_alone).exit_code == 0


def test_the_privacy_noise_cannot_be_seeded(run: Run, shop: Path, tmp_path: Path) -> None:
    offsets = []
    for name in ("a", "b"):
        arguments = ("--catalogue", shop / "items.csv", *BUDGET, *RATE, "--seed", 7, "--out", tmp_path / name)
        assert run("train", shop / "train.csv", *COLUMNS, *arguments).exit_code == 0
        offsets.append(Model.load(tmp_path / name).item_side.offsets.tolist())
    assert offsets[0] != offsets[1]


def test_goals(run: Run, shop: Path, tmp_path: Path) -> None:
    """The goal chooses the method: lists if nothing is said. A method that is named has its own."""
    private = ("--catalogue", shop / "items.csv", *BUDGET)
    stars, none = COLUMNS, COLUMNS[:4]
    for number, (columns, options, goal) in enumerate(
        [
            (stars, private, "rank"),
            (stars, (*private, *RATE), "rate"),
            (none, private, "rank"),
            (stars, ("--method", "als", *SMALL), "rank"),
            (stars, ("--method", "als", *SMALL, "--goal", "rate"), "rate"),
            (stars, (*private, "--method", "svd", "--rank", 2, "--goal", "rate"), "rate"),
            (none, (*private, "--method", "svd", "--rank", 2, "--goal", "rank"), "rank"),
        ]
    ):
        out = tmp_path / str(number)
        result = run("train", shop / "train.csv", *columns, *options, "--out", out, "--json")
        assert result.exit_code == 0, result.stderr
        assert read(result.stdout)["goal"] == goal, number
        model = Model.load(out)
        assert model.goal == model.statement.goal == goal
        assert model.settings.get("goal", goal) == goal
        if "--method" not in options:
            assert model.method == DEFAULTS[goal]


MUCH = ("--epsilon", 20, "--delta", "1e-4")
TRIVIAL = ("global-mean", "user-mean", "item-mean", "popularity")


def arguments(shop: Path, out: Path, *more: object) -> tuple[object, ...]:
    catalogue = ("--catalogue", shop / "items.csv")
    return ("train", shop / "train.csv", *COLUMNS, *catalogue, *more, "--out", out, "--json")


@pytest.mark.parametrize("method", ["als", "popularity", "svd", "user-mean"])
def test_methods_are_trained_and_served(run: Run, shop: Path, tmp_path: Path, method: str) -> None:
    budget = () if method == "als" else MUCH
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


def test_the_users_own_mean_needs_no_budget(run: Run, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    content = json.loads(run(*arguments(shop, out, "--method", "user-mean")).stdout)
    assert (content["epsilon"], content["delta"], content["mu"], content["rounds"]) == (0.0, 0.0, 0.0, 0)
    assert "nothing computed from ratings was released" in " ".join(str(Model.load(out).statement).split())


BUDGETED = ("--epsilon", 5, "--delta", "1e-4", "--goal", "rate", "--rank", 2, "--rounds", 2)


@pytest.fixture
def items(shop: Path, tmp_path: Path) -> Path:
    """A catalogue with columns to take features from."""
    frame = pl.read_csv(shop / "items.csv")
    described = frame.with_columns(
        title=pl.Series([f"word{k // 2} ({1990 + k % 7})" for k in range(len(frame))]),
        genres=pl.Series([("drama|war", "comedy", "war", None)[k % 4] for k in range(len(frame))]),
        authors=pl.Series([f"ann{k % 5}, bob{k % 3}" for k in range(len(frame))]),
    )
    described.write_csv(tmp_path / "items.csv")
    return tmp_path / "items.csv"


@pytest.mark.parametrize(
    "given", [("--features", "genres,authors:tags"), ("--features", "genres", "--features", "authors:tags")]
)
def test_train_with_features(
    run: Run, shop: Path, items: Path, tmp_path: Path, given: tuple[str, ...]
) -> None:
    out = tmp_path / "model"
    result = run("train", shop / "train.csv", *COLUMNS, "--catalogue", items, *given, *BUDGETED, "--out", out)
    assert result.exit_code == 0, result.output
    model = Model.load(out)
    assert model.catalogue.feature_encoder is not None
    assert model.catalogue.feature_encoder.kinds == {"authors": "tags", "genres": "tags"}
    assert "the items' features: authors, genres" in model.statement.public
    assert model.catalogue.titles
