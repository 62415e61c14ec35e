"""Files as they are, on the command line: the same model questions, whatever the file looks like."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from discreet import LedgerFile
from tests.cli.conftest import Run

ASK = ("--method", "popularity", "--epsilon", 8, "--delta", "1e-6")


@pytest.fixture(scope="module")
def plays() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = {"Who": rng.integers(0, 300, 4_000), "Song": rng.integers(0, 20, 4_000)}
    return pl.DataFrame({**rows, "Plays": rng.geometric(0.2, 4_000), "When": rng.integers(0, 99, 4_000)})


@pytest.fixture
def shop(plays: pl.DataFrame, tmp_path: Path) -> Path:
    text = plays.write_csv(separator=";")
    (tmp_path / "plays.csv.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    (tmp_path / "plays.csv").write_text(text)
    pl.DataFrame({"Song": range(20), "Title": [f"Lied {n} ä" for n in range(20)]}).write_csv(
        tmp_path / "songs.csv"
    )
    return tmp_path


def test_a_packed_semicolon_file_in_another_encoding(run: Run, shop: Path) -> None:
    columns = ("--user", "Who", "--item", "Song")
    catalogue = ("--catalogue", shop / "songs.csv", "--catalogue-column", "Song")
    packed = (shop / "plays.csv.gz", "--encoding", "utf-16", "--separator", ";")
    for engine, source in (("memory", packed), ("disk", (shop / "plays.csv",))):
        asked = ("train", *source, *columns, *catalogue, *ASK, "--engine", engine)
        done = run(*asked, "--out", shop / engine, "--json")
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)["holder"]
        assert (told["users"], told["dropped"], told["merged"]) == (300, 0, 4_000 - told["ratings"])
    said = run("statement", shop / "disk", "--json").stdout
    assert "count by the last" in said
    assert str(told["merged"]) not in said
    measured = run(
        *("evaluate", shop / "disk", shop / "plays.csv", "--history", shop / "plays.csv", *columns),
        *("--only", "rankings", "--json"),
    )
    assert measured.exit_code == 0, measured.output
    assert json.loads(measured.stdout)["users"] == 300


def test_standard_input(run: Run, shop: Path) -> None:
    asked = ["train", "-", "--user", "Who", "--item", "Song", "--catalogue", str(shop / "songs.csv")]
    asked += ["--catalogue-column", "Song", *map(str, ASK), "--out", str(shop / "model"), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *asked],
        input=(shop / "plays.csv").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["holder"]["users"] == 300


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1_000))


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_noticed_before_a_budget_is_reserved(
    refused: Callable[..., str], run: Run, shop: Path
) -> None:
    asked = (
        "train",
        shop / "plays.csv",
        "--user",
        "Who",
        "--item",
        "Song",
        "--catalogue",
        shop / "songs.csv",
    )
    ledger = ("--ledger", shop / "people.ledger")
    said = refused(*asked, "--catalogue-column", "Song", *ASK, *ledger, "--out", shop / "m")
    assert "Nothing was spent" in said
    assert not (shop / "people.ledger").exists() or LedgerFile(shop / "people.ledger").account().runs == ()
