"""``discreet train`` on disk, stopped and resumed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import LedgerFile
from discreet.data import preparation
from discreet.data.synthetic import market
from discreet.methods.checkpoint import Checkpoint
from discreet.model import Model
from tests.cli.conftest import Run

Refused = Callable[..., str]


class Killed(BaseException):
    """In place of a signal; nothing in the package catches it."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    ratings = market(200, 20, 1_100, rng=2)
    assert ratings.catalogue is not None
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    frame = pl.DataFrame(
        {"user": users, "item": ratings.catalogue.ids[ratings.items], "stars": ratings.values}
    )
    (tmp_path / "ratings").mkdir()
    frame[:700].write_parquet(tmp_path / "ratings" / "1.parquet")
    frame[700:].write_parquet(tmp_path / "ratings" / "2.parquet")
    pl.DataFrame({"item": ratings.catalogue.ids}).write_csv(tmp_path / "items.csv")
    return tmp_path


def arguments(shop: Path, *more: object) -> list[object]:
    return [
        *("train", shop / "ratings", "--user", "user", "--item", "item", "--rating", "stars"),
        *("--rating-range", 1, 5, "--catalogue", shop / "items.csv", "--method", "item-mean"),
        *("--epsilon", 3, "--delta", "1e-5", "--out", shop / "model", "--json", *more),
    ]


def told(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_a_folder_is_trained_on_from_disk_and_nothing_is_left(run: Run, shop: Path) -> None:
    from_disk = told(run(*arguments(shop, "--engine", "disk")))
    assert from_disk["holder"]["engine"] == "disk"
    assert from_disk["private"]
    assert not (shop / "model.run").exists()
    shutil.rmtree(shop / "model")
    in_memory = told(run(*arguments(shop, "--engine", "memory")))
    assert "engine" not in in_memory["holder"]
    for key in ("users", "items", "ratings", "dropped"):
        assert from_disk["holder"][key] == in_memory["holder"][key]
    assert Model.load(shop / "model").statement.private


def test_blocks_that_are_kept_serve_other_runs(run: Run, shop: Path, refused: Refused) -> None:
    told(run(*arguments(shop, "--engine", "disk", "--blocks", shop / "blocks")))
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (shop / "blocks").iterdir())
    told(run(*arguments(shop, "--engine", "disk", "--blocks", shop / "blocks", "--force")))
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (shop / "blocks").iterdir()) == before
    more = ("--engine", "disk", "--blocks", shop / "blocks", "--out-of-range", "clip", "--force")
    assert "another file, or otherwise" in refused(*arguments(shop, *more))
    assert not (shop / "model.run").exists()


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("where", ["intend", "keep", "saved"])
def test_a_stopped_run_is_resumed_with_the_arguments_it_began_with(
    engine: str, where: str, run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = shop / "people.ledger"
    owner, name = (Checkpoint, where) if where != "saved" else (Model, "save")

    def stop(*given: Any, **named: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setenv("DISCREET_LEDGER", str(ledger))
        patch.setattr(owner, name, stop)
        with pytest.raises(Killed):
            run(*arguments(shop, "--engine", engine, "--checkpoint", shop / "run", "--seed", 5))
    assert not (shop / "model").exists()
    answer = told(run("train", "--resume", shop / "run"))
    assert answer["holder"].get("engine", "memory") == engine
    assert not (shop / "run").exists()
    (entered,) = LedgerFile(ledger).account().runs.values()
    assert [charge.name for charge in entered.charges] == [release["name"] for release in answer["releases"]]
    assert Model.load(shop / "model").statement.private


def test_a_run_that_ended_after_its_model_was_saved_is_cleared_away(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*given: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("discreet.cli.train.clear_run", stop)
        with pytest.raises(Killed):
            run(*arguments(shop, "--engine", "disk"))
    digest = Model.load(shop / "model").digest
    told(run("train", "--resume", shop / "model.run"))
    assert Model.load(shop / "model").digest == digest
    assert not (shop / "model.run").exists()


def test_large_files_stay_on_disk_by_themselves(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "engine" not in told(run(*arguments(shop)))["holder"]
    needed = 1_100 * preparation._PER_ROW
    for memory, engine in (
        (int(needed / preparation._SHARE) + 1, None),
        (int(needed / preparation._SHARE) - 1, "disk"),
    ):
        monkeypatch.setattr(preparation, "_memory", lambda memory=memory: memory)
        assert told(run(*arguments(shop, "--force")))["holder"].get("engine") == engine
