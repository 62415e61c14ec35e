"""``discreet federate plan`` and ``federate refine``: before anybody pays, and after."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import discreet
from discreet import Budget, Model, Ratings
from discreet.data.synthetic import market
from discreet.silos import plan as planning
from tests.cli.conftest import Run

COLUMNS = ("--user", "user", "--item", "item", "--rating", "rating")


@pytest.fixture(scope="module")
def silo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what three silos released, and one silo's ratings, whose users like what others do not."""
    folder = tmp_path_factory.mktemp("silo")
    ratings = market(900, 40, 9_000, rng=0)
    parts = [ratings.take_users(slice(start, start + 300)) for start in (0, 300, 600)]
    discreet.silos.fit(parts, Budget(8.0, 1e-5), honest=2, rng=0).model_.save(folder / "model")
    mine = parts[0].take_users(slice(0, 100))
    _write(mine, folder / "ours.csv")
    return folder


def _write(ratings: Ratings, path: Path) -> None:
    assert ratings.catalogue is not None
    ids = ratings.catalogue.ids
    rows = [
        (user, ids[item], 6.0 - value)
        for user, start, end in zip(ratings.user_ids, ratings.indptr[:-1], ratings.indptr[1:], strict=True)
        for item, value in zip(ratings.items[start:end], ratings.values[start:end], strict=True)
    ]
    pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row").write_csv(path)


def test_a_silo_refines_what_was_released_and_is_told_that_it_must_stay(
    run: Run, silo: Path, tmp_path: Path
) -> None:
    command = ("federate", "refine", silo / "model", "--ratings", silo / "ours.csv", *COLUMNS, "--seed", 0)
    result = run(*command, "--out", tmp_path / "own", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    model, federated = Model.load(tmp_path / "own"), Model.load(silo / "model")
    assert told["private"] is model.statement.private is False
    assert told["method"] == model.method == "own"
    assert told["federated"] == federated.digest
    assert "must not leave the silo" in told["reason"]
    holder = told["holder"]
    assert (holder["users"], holder["ratings"]) == (
        100,
        len((silo / "ours.csv").read_text().splitlines()) - 1,
    )
    assert holder["way"] in ("refined", "alone")
    assert holder["measure"] == "rmse"
    assert holder["held_out"][holder["way"]] < holder["held_out"]["federated"]
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700
    # Who reads its statement sees it too, and a run that starts from it is refused.
    assert "NOT PRIVATE" in run("statement", tmp_path / "own").stdout
    assert json.loads(run("statement", tmp_path / "own", "--json").stdout)["statement"]["private"] is False


def test_it_says_in_words_what_was_chosen_and_what_that_means(run: Run, silo: Path, tmp_path: Path) -> None:
    command = ("federate", "refine", silo / "model", "--ratings", silo / "ours.csv", *COLUMNS, "--seed", 0)
    words = run(*command, "--out", tmp_path / "own").stdout
    assert "(chosen)" in words
    assert "NOT PRIVATE" in words
    assert "For you alone" in words


def test_refusals(run: Run, refused: Callable[..., str], silo: Path, tmp_path: Path) -> None:
    given = ("--ratings", silo / "ours.csv", "--user", "user", "--item", "item")
    out = ("--out", tmp_path / "own")
    assert "name their column with --rating" in refused("federate", "refine", silo / "model", *given, *out)
    plain = (
        discreet.ALS(rank=2, rounds=1).fit(market(50, 40, 300, rng=0), rng=0).model_.save(tmp_path / "plain")
    )
    rated = (*given, "--rating", "rating")
    assert "this model is not private" in refused("federate", "refine", plain, *rated, *out)
    assert not (tmp_path / "own").exists()
    taken = ("--out", plain)
    assert "--force" in refused("federate", "refine", silo / "model", *rated, *taken)
    assert "whole numbers" in refused("federate", "plan", "--users", "many")
    assert "leave --silos out" in refused("federate", "plan", "--users", "10,20", "--silos", 3)
    assert "cannot be honest" in refused("federate", "plan", "--users", "10,20", "--honest", 3)


def test_a_plan_tells_what_each_silo_gains(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "NEWCOMERS", 300)
    size = ("--users", "600,150,150", "--items", 60, "--ratings-per-user", 12, "--draws", 1)
    terms = ("--goal", "rate", "--epsilon", 4)
    told = json.loads(run("federate", "plan", *size, *terms, "--json").stdout)
    assert (told["silos"], told["sizes"], told["honest"]) == (3, [600, 150, 150], 2)
    assert (told["measure"], told["epsilon"], told["delta"]) == ("rmse", 4.0, 1e-6)
    scores = {
        (row["training"], row["private"], row["users"], row["honest"]): row["rmse"] for row in told["rows"]
    }
    for gain in told["worth_joining"]:
        together, alone = scores["together", True, 900, 2], scores["alone", False, gain["users"], None]
        assert gain["gain_over_alone"] == pytest.approx(100 * (1 - together / alone), abs=0.01)
    assert [gain["users"] for gain in told["worth_joining"]] == [150, 600]
    words = run("federate", "plan", *size, *terms).stdout
    assert "alone, not private" in words
    assert "A silo of 150 users: together is" in words
    assert "nothing was spent" in words
