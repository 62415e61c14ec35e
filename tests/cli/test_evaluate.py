"""``discreet evaluate``, with models made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.data.ratings import Ratings
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.model import Model
from tests.cli.conftest import Run

TRAIN = "who,what,stars\n1,item-2,5\n1,item-3,4\n2,item-2,1\n2,item-7,2\n3,item-0,3\n"
TEST = "who,what,stars\n2,item-3,2\n1,item-5,5\n1,item-8,3.5\n9,item-1,4\n"
COLUMNS = ("--user", "who", "--item", "what", "--rating", "stars")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A history and a test."""
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text(TRAIN)
    test.write_text(TEST)
    return train, test


def test_explicit(run: Run, explicit_model: Path, files: tuple[Path, Path]) -> None:
    train, test = files
    content = json.loads(run("evaluate", explicit_model, test, "--history", train, *COLUMNS, "--json").stdout)
    model = Model.load(explicit_model)
    past, held_out = (
        Ratings.from_csv(
            path, user="who", item="what", rating="stars", rating_range=(1, 5), catalogue=model.catalogue
        )
        for path in (train, test)
    )
    ratings, ranking = evaluate_ratings(model, past, held_out), evaluate_ranking(model, past, held_out, 20)
    assert content == {
        "rmse": ratings.rmse,
        "mae": ratings.mae,
        "recall@20": ranking.recall,
        "ndcg@20": ranking.ndcg,
        "coverage": ranking.coverage,
        "users": 3,
        "ratings": 4,
        "baselines": {
            "global_mean": {"rmse": ratings.global_mean_rmse},
            "user_mean": {"rmse": ratings.user_mean_rmse},
            "popularity": {"recall@20": ranking.popularity_recall, "ndcg@20": ranking.popularity_ndcg},
        },
    }


def test_the_table_and_another_length(run: Run, explicit_model: Path, files: tuple[Path, Path]) -> None:
    text = run("evaluate", explicit_model, files[1], "--history", files[0], *COLUMNS, "--at", 3).stdout
    for word in ("recall@3", "rmse", "user mean", "popularity", "model"):
        assert word in text


def test_implicit(run: Run, implicit_model: Path, tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("user,item\n1,10\n1,30\n2,30\n")
    test.write_text("user,item\n1,50\n2,70\n")
    arguments = ("evaluate", implicit_model, test, "--history", train, "--user", "user", "--item", "item")
    content = json.loads(run(*arguments, "--at", 5, "--json").stdout)
    assert content["rmse"] is None
    assert content["baselines"]["user_mean"] == {"rmse": None}
    assert 0.0 <= content["recall@5"] <= 1.0
    assert "rmse" not in run(*arguments).stdout


def test_mistakes(
    refused: Callable[..., str],
    run: Run,
    explicit_model: Path,
    implicit_model: Path,
    files: tuple[Path, Path],
) -> None:
    train, test = files
    base = ("evaluate", explicit_model, test, "--history", train)
    assert "name their column with --rating" in refused(*base, "--user", "who", "--item", "what")
    assert "leave out --rating" in refused("evaluate", implicit_model, test, "--history", train, *COLUMNS)
    assert "no column 'user'" in refused(*base, "--user", "user", "--item", "what", "--rating", "stars")
    test.write_text(TEST + "1,ghost,3\n")
    assert "row 5: item 'ghost'" in refused(*base, *COLUMNS)
    dropped = run(*base, *COLUMNS, "--unknown-items", "drop", "--json")
    assert json.loads(dropped.stdout)["ratings"] == 4
    test.write_text("who,what,stars\n77,item-1,3\n")
    assert "none of the 1 test users has a history" in refused(*base, *COLUMNS)
