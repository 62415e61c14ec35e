"""``discreet sample`` and ``discreet split``: files to try things on, and files to measure with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    times = [3, 1, 2, 9, 8, 7, 6, 5, 4, 10]
    return pl.DataFrame(
        {"who": [*"aaabbbbccd"], "what": range(10), "when": times, "text": ["x;y", None, *"abcdefgh"]}
    )


@pytest.fixture
def table(rows: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    rows.write_csv(path, separator=";")
    return path


def parts_of(folder: Path) -> dict[str, pl.DataFrame]:
    return {path.stem: pl.read_csv(path) for path in folder.glob("*.csv")}


def test_the_readme_can_be_followed_with_the_sample(run: Run, tmp_path: Path) -> None:
    assert run("sample", "--out", tmp_path, "--users", 300, "--json").exit_code == 0
    train = run(
        *("train", tmp_path / "ratings.csv", "--user", "user", "--item", "item", "--rating", "rating"),
        *("--rating-range", 1, 5, "--catalogue", tmp_path / "items.csv", "--features", "title,kind"),
        *("--goal", "rate", "--epsilon", 8, "--delta", 1e-6, "--out", tmp_path / "model"),
    )
    assert train.exit_code == 0
    found = run("recommend", tmp_path / "model", "--history", tmp_path / "my-history.csv", "-n", 10, "--json")
    assert len(json.loads(found.stdout)["recommendations"]) == 10
    columns = ("--user", "user", "--item", "item", "--rating", "rating")
    measured = run(
        "evaluate", tmp_path / "model", tmp_path / "test.csv", "--history", tmp_path / "ratings.csv", *columns
    )
    assert measured.exit_code == 0


def test_a_sample_replaces_nothing_unasked(run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("mine")
    assert "exists" in refused("sample", "--out", tmp_path, "--users", 100)
    assert [path.name for path in tmp_path.iterdir()] == ["items.csv"]
    assert (tmp_path / "items.csv").read_text() == "mine"
    assert run("sample", "--out", tmp_path, "--users", 100, "--force").exit_code == 0


@pytest.mark.parametrize("by", ["rating", "time", "last", "user"])
def test_every_row_is_in_one_part_as_it_was(
    run: Run, table: Path, rows: pl.DataFrame, tmp_path: Path, by: str
) -> None:
    time = ("--time", "when") if by in ("time", "last") else ()
    asked = ("split", table, "--user", "who", "--by", by, *time, "--test", 0.3, "--seed", 1)
    result = run(*asked, "--out", tmp_path / "parts", "--json")
    assert result.exit_code == 0
    parts = parts_of(tmp_path / "parts")
    assert json.loads(result.stdout)["files"] == {f"{name}.csv": len(part) for name, part in parts.items()}
    assert pl.concat(parts.values()).sort("what").equals(rows.sort("what"))
    if by == "rating":
        assert len(parts["test"]) == 3
    elif by == "time":
        assert sorted(parts["test"]["when"]) == [8, 9, 10]
    elif by == "last":
        assert sorted(parts["test"].select("who", "when").rows()) == [("a", 3), ("b", 9), ("c", 5)]
    else:
        assert not set(parts["train"]["who"]) & set(parts["test"]["who"])
        assert len(set(parts["history"]["who"])) == 1  # of four users, rounded
        assert set(parts["test"]["who"]) <= set(parts["history"]["who"])
        assert len(parts["test"]) == 1


def test_the_same_seed_holds_the_same_back(run: Run, table: Path, tmp_path: Path) -> None:
    texts = []
    for name, seed in (("one", 4), ("two", 4), ("three", 5)):
        run("split", table, "--user", "who", "--test", 0.5, "--seed", seed, "--out", tmp_path / name)
        texts.append((tmp_path / name / "test.csv").read_text())
    assert texts[0] == texts[1] != texts[2]
