"""``discreet evaluate``, with models made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet
from discreet.data.ratings import Ratings
from discreet.model import Model
from discreet.model.fold_in import Clicks, Ridge
from tests.cli.conftest import Run
from tests.model.models import STATEMENT, make_model

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
    found = discreet.evaluate(model, held_out, history=past, k=20)
    popular = {name: one.value for name, one in found.popularity.items()}
    assert found.global_mean is not None
    assert found.user_mean is not None
    intervals = content.pop("intervals")
    assert content.pop("holder") == {
        "with_relevant": 2,
        "with_disliked": 1,
        "with_both": 0,
        "also_in_history": 0,
        "history": {"users": 3, "items": 12, "ratings": 5, "dropped": 0, "merged": 0},
        "test": {"users": 3, "items": 12, "ratings": 4, "dropped": 0, "merged": 0},
    }
    assert content["baselines"]["popularity"].pop("intervals")["mrr"][0] == found.popularity["mrr"].low
    assert content == {
        "goal": "rate",
        **{name: None if name == "auc" else one.value for name, one in found.metrics.items()},
        "users": 3,
        "ratings": 4,
        "relevant": 3.4,
        "disliked": 2.6,
        "baselines": {
            "global_mean": {"rmse": found.global_mean.value},
            "user_mean": {"rmse": found.user_mean.value},
            "popularity": popular | {"auc": None},
        },
    }
    assert set(content) >= {"rmse", "mae", "recall@20", "ndcg@20", "disliked@20", "coverage"}
    assert set(intervals) == set(found.metrics)
    assert intervals["rmse"] == [found["rmse"].low, found["rmse"].high]


def test_one_row_a_user_for_their_holder_alone(
    run: Run, explicit_model: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    arguments = (
        "evaluate",
        explicit_model,
        files[1],
        "--history",
        files[0],
        *COLUMNS,
        "--json",
        "--per-user",
    )
    whole = json.loads(run(*arguments, tmp_path / "users.csv").stdout)
    run(*arguments, tmp_path / "users.parquet")
    tables = [pl.read_csv(tmp_path / "users.csv"), pl.read_parquet(tmp_path / "users.parquet")]
    for table in tables:
        assert table.sort("user").select("user", "relevant", "disliked").rows() == [
            (1, 2, 0),
            (2, 0, 1),
            (9, 1, 0),
        ]
        assert table["recall@20"].mean() == pytest.approx(whole["recall@20"])
        assert table["disliked@20"].null_count() == 2
    for name in ("users.csv", "users.parquet"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def _ranker(path: Path, best: int, goal: str) -> Path:
    """A saved model of ratings that puts one of twelve items first for everybody."""
    model = make_model("explicit")
    offsets = np.zeros(12)
    offsets[best] = 2.0
    rule = Ridge() if goal == "rate" else Clicks(gravity=0.1)
    side = replace(model.item_side, offsets=offsets, factors=np.zeros((12, 3)), rule=rule)
    return replace(model, item_side=side, statement=STATEMENT).save(path)


@pytest.mark.parametrize(
    ("best", "goal", "said"),
    [
        (
            8,
            "rate",
            "This model ranks worse than popularity (recall@1 0.0000, popularity 1.0000): it was trained to "
            "predict ratings; to recommend, train with --goal rank.",
        ),
        (8, "rank", "or recommend what is popular."),
        (2, "rate", None),
        (2, "rank", None),
    ],
)
def test_a_model_that_ranks_worse_than_popularity_says_so_in_one_sentence(
    run: Run, tmp_path: Path, best: int, goal: str, said: str | None
) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("who,what,stars\n1,item-2,4\n2,item-2,4\n3,item-0,4\n")
    test.write_text("who,what,stars\n3,item-2,4\n")
    model = _ranker(tmp_path / "model", best, goal)
    arguments = ("evaluate", model, test, "--history", train, *COLUMNS, "--at", 1)
    for given in (arguments, (*arguments, "--json")):
        result = run(*given)
        lines = [line for line in result.stderr.splitlines() if "worse than popularity" in line]
        assert len(lines) == (said is not None)
        assert "worse" not in result.stdout
        if said is not None:
            assert said in lines[0]
    assert "worse" not in run(*arguments, "--only", "errors").stderr
    assert json.loads(run(*arguments, "--json").stdout)["goal"] == goal


def test_a_model_that_ranks_by_ratings_has_no_errors_and_says_why(
    run: Run, refused: Callable[..., str], tmp_path: Path, files: tuple[Path, Path]
) -> None:
    model = _ranker(tmp_path / "model", 3, "rank")
    arguments = ("evaluate", model, files[1], "--history", files[0], *COLUMNS)
    result = run(*arguments, "--json")
    content = json.loads(result.stdout)
    assert content["rmse"] is None
    assert content["mae"] is None
    assert content["baselines"]["user_mean"] == {"rmse": None}
    assert 0.0 < content["recall@20"] <= 1.0
    sentence = "this model ranks; it does not predict ratings: train with --goal rate"
    assert result.stderr.count(sentence) == run(*arguments).stderr.count(sentence) == 1
    assert sentence not in run(*arguments, "--only", "rankings").stderr
    assert sentence in refused(*arguments, "--only", "errors")
