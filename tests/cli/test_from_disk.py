"""``discreet evaluate`` and ``recommend`` from disk: what they say of ratings in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from discreet.data import preparation
from discreet.model import Model
from tests.cli.conftest import Run

Refused = Callable[..., str]
COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars")


@pytest.fixture
def model(run: Run, shop: Path, tmp_path: Path) -> Path:
    """A model of the shop, and the blocks it was trained from."""
    done = run(
        *("train", shop / "train.csv", *COLUMNS, "--rating-range", 1, 5, "--catalogue", shop / "items.csv"),
        *("--goal", "rate", "--rank", 2, "--rounds", 2, "--epsilon", 50, "--delta", "1e-6", "--seed", 1),
        *("--engine", "disk", "--blocks", tmp_path / "blocks", "--out", tmp_path / "model"),
    )
    assert done.exit_code == 0, done.output
    return tmp_path / "model"


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(preparation.prepare.__kwdefaults__, "block_ratings", 200)


def test_evaluation(run: Run, refused: Refused, model: Path, shop: Path, tmp_path: Path) -> None:
    def told(*more: object) -> dict[str, Any]:
        done = run("evaluate", model, shop / "test.csv", *COLUMNS, "--json", *more)
        assert done.exit_code == 0, done.output
        return dict(json.loads(done.stdout))

    def flat(content: Any, name: str = "") -> dict[str, Any]:
        if not isinstance(content, dict | list):
            return {f"{name}: {content}": 0.0} if isinstance(content, str) else {name: content}
        entries = content.items() if isinstance(content, dict) else enumerate(content)
        return {
            place: one for key, part in entries for place, one in flat(part, f"{name} {key}".strip()).items()
        }

    in_memory = flat(told("--history", shop / "train.csv", "--engine", "memory"))
    for history, more in (
        (shop / "train.csv", ("--engine", "disk")),
        (shop / "train.csv", ("--engine", "disk", "--blocks", tmp_path / "kept")),
        (tmp_path / "kept" / "history", ()),
    ):
        assert flat(told("--history", history, *more)) == pytest.approx(in_memory, rel=1e-12)
    assert len(list((tmp_path / "kept" / "test").glob("block-*"))) > 3
    words = refused(
        *(
            "evaluate",
            model,
            shop / "test.csv",
            *COLUMNS,
            "--history",
            tmp_path / "blocks",
            "--engine",
            "memory",
        )
    )
    assert "prepared on disk" in words


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_recommendations_for_everybody(run: Run, model: Path, shop: Path, tmp_path: Path, form: str) -> None:
    written = {}
    for engine in ("memory", "disk"):
        out = tmp_path / f"{engine}.{form}"
        history = ("--history", shop / "train.csv", "--rating-column", "stars")
        done = run("recommend", model, *history, "-n", 5, "--engine", engine, "--out", out, "--json")
        assert done.exit_code == 0, done.output
        written[engine] = (pl.read_parquet if form == "parquet" else pl.read_csv)(out).sort("user", "rank")
        assert json.loads(done.stdout)["rows"] == written[engine].height
    assert_frame_equal(written["disk"], written["memory"], rel_tol=1e-12)
    users = pl.read_csv(shop / "train.csv")["user"].unique().sort()
    assert written["disk"]["user"].unique().sort().to_list() == users.to_list()


def test_one_user_of_many_on_disk(
    run: Run, refused: Refused, model: Path, shop: Path, tmp_path: Path
) -> None:
    frame = pl.read_csv(shop / "train.csv")
    user = int(frame["user"][17])
    mine = frame.filter(pl.col("user") == user)
    blocks = ("--history", tmp_path / "blocks")
    done = run("recommend", model, *blocks, "--user", user, "-n", 3, "--json")
    expected = Model.load(model).recommend(dict(zip(mine["item"], mine["stars"], strict=True)), 3)
    assert json.loads(done.stdout)["recommendations"] == expected.to_dict()["recommendations"]
    assert "no user" in refused("recommend", model, *blocks, "--user", 10**9)
    assert "--out" in refused("recommend", model, *blocks)


def test_a_damaged_block_leaves_no_file(run: Run, refused: Refused, model: Path, tmp_path: Path) -> None:
    last = max((tmp_path / "blocks").glob("block-*"))
    content = bytearray(last.read_bytes())
    content[-1] ^= 1
    last.write_bytes(content)
    out = tmp_path / "out.parquet"
    assert "altered or damaged" in refused("recommend", model, "--history", tmp_path / "blocks", "--out", out)
    assert not list(tmp_path.glob("*out.parquet*"))


def test_large_tables_go_to_disk_by_themselves(
    run: Run, model: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "_memory", lambda: 1000)
    words = run("recommend", model, "--history", shop / "train.csv", "--rating-column", "stars")
    assert words.exit_code == 2
    assert "on disk" in words.stderr
