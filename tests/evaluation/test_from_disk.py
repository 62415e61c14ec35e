"""Evaluation a partition at a time: the numbers of ratings that are held whole."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet import Ratings
from discreet.catalogue.columns import Columns
from discreet.data import StoredRatings, prepare
from discreet.data.rules import ROW_BY_ROW
from discreet.errors import HistoryInvalid, RatingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.evaluation.protocol import pairs
from tests.model.models import make_model

MODEL = make_model("explicit")
COLUMNS = Columns("user", "item", "stars")


def tables(users: list[object], seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A history and a test; some users are in one of them alone, and one has more than a block."""
    rng = np.random.default_rng(seed)
    rows = [
        (user, item, float(rng.integers(1, 6)))
        for user in users
        for item in rng.permutation(MODEL.catalogue.ids)[: rng.integers(1, 12)]
    ]
    frame = pl.DataFrame(rows, schema=["user", "item", "stars"], orient="row")
    held_out = pl.Series(rng.random(frame.height) < 0.3)
    return frame.filter(~held_out & (frame["user"] != users[0])), frame.filter(held_out)


def stored(
    frame: pl.DataFrame, place: Path, name: str, alike: StoredRatings | None = None, size: int = 20
) -> StoredRatings:
    frame.write_parquet(place / f"{name}.parquet")
    return prepare(
        str(place / f"{name}.parquet"),
        place / name,
        COLUMNS,
        rating_range=(1.0, 5.0),
        catalogue=MODEL.catalogue,
        rules=ROW_BY_ROW,
        alike=alike,
        block_ratings=size,
        run_rows=70,
    )


def whole(frame: pl.DataFrame) -> Ratings:
    return Ratings.from_frame(
        frame, user="user", item="item", rating="stars", rating_range=(1, 5), catalogue=MODEL.catalogue
    )


@pytest.mark.parametrize("kind", ["numbers", "text", "numbers beside text"])
def test_from_disk_the_numbers_are_those_of_memory(kind: str, tmp_path: Path) -> None:
    users: list[object] = [f"u{n}" if kind == "text" else n * 7919 for n in range(90)]
    history, test = tables(users)
    if kind == "numbers beside text":
        history = history.cast({"user": pl.String})
    past = stored(history, tmp_path, "history")
    held_out = stored(test, tmp_path, "test", past)
    assert past.dealt == held_out.dealt > 3
    for evaluate in (evaluate_ratings, evaluate_ranking):
        in_memory = asdict(evaluate(MODEL, whole(history), whole(test)))  # type: ignore[arg-type]
        from_disk = asdict(evaluate(MODEL, past, held_out))  # type: ignore[arg-type]
        assert from_disk == pytest.approx(in_memory, rel=1e-12)


def test_every_user_of_the_test_is_there_once(tmp_path: Path) -> None:
    history, test = tables([f"u{n}" for n in range(90)])
    past = stored(history, tmp_path, "history")
    met = [
        user for _, part in pairs(MODEL, past, stored(test, tmp_path, "test", past)) for user in part.user_ids
    ]
    assert sorted(met) == sorted(test["user"].unique())


def test_what_was_not_prepared_side_by_side_is_refused(tmp_path: Path) -> None:
    history, test = tables([f"u{n}" for n in range(90)])
    past, other = stored(history, tmp_path, "history"), stored(test, tmp_path, "test", size=11)
    with pytest.raises(RatingsInvalid, match="side by side"):
        evaluate_ratings(MODEL, past, other)
    with pytest.raises(RatingsInvalid, match="both be in memory"):
        evaluate_ratings(MODEL, past, whole(test))
    strangers = stored(test.with_columns(pl.col("user") + "x"), tmp_path, "strangers", past)
    with pytest.raises(HistoryInvalid, match=r"none of the .* test users has a history"):
        evaluate_ranking(MODEL, past, strangers)
