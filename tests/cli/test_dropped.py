"""Rows that are left out, times, ranges and starts: what a command says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.cli.conftest import Run

READ = ("--user", "user", "--item", "item", "--rating", "stars")


def test_the_command_says_it_to_the_holder_and_nothing_of_it_is_kept(
    run: Run, shop: Path, tmp_path: Path
) -> None:
    catalogue = tmp_path / "few.csv"
    catalogue.write_text("\n".join((shop / "items.csv").read_text().splitlines()[:36]) + "\n")
    train = (
        *("train", shop / "train.csv", "--user", "user", "--item", "item", "--rating", "stars"),
        *("--rating-range", 1, 5, "--epsilon", 5, "--delta", "1e-4", "--method", "item-mean"),
    )
    result = run(
        *train, "--catalogue", catalogue, "--allow-dropped", 0.9, "--out", tmp_path / "model", "--json"
    )
    assert result.exit_code == 0, result.output
    assert "For you alone: " in result.stderr
    number = result.stderr.split("For you alone: ")[1].split(" of ")[0]
    for file in (tmp_path / "model").iterdir():
        assert number.encode() not in file.read_bytes() or file.suffix == ".safetensors"
    tiny = tmp_path / "tiny.csv"
    tiny.write_text("\n".join((shop / "items.csv").read_text().splitlines()[:4]) + "\n")
    refusal = run(*train, "--catalogue", tiny, "--out", tmp_path / "other")
    assert refusal.exit_code == 2
    assert "--allow-dropped" in refusal.stderr
    assert not (tmp_path / "other").exists()


def test_a_split_by_time_reads_dates_and_does_not_sort_texts(run: Run, shop: Path, tmp_path: Path) -> None:
    days = pl.date_range(pl.date(2019, 1, 1), pl.date(2021, 12, 31), eager=True)
    frame = pl.DataFrame({"user": ["a", "b"] * (len(days) // 2), "day": days.dt.strftime("%d.%m.%Y")})
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "r.csv")
    split = ("split", tmp_path / "r.csv", "--user", "user", "--time", "day", "--out", tmp_path / "parts")
    refused = run(*split, "--by", "time")
    assert refused.exit_code == 2
    assert "--time-format" in refused.stderr
    assert not (tmp_path / "parts").exists()
    assert run(*split, "--by", "time", "--time-format", "%d.%m.%Y").exit_code == 0
    train, test = (
        pl.read_csv(tmp_path / "parts" / f"{name}.csv")["day"].str.to_date("%d.%m.%Y")
        for name in ("train", "test")
    )
    assert train.max() < test.min()  # type: ignore[operator]


def test_a_start_about_other_items_is_said(run: Run, shop: Path, tmp_path: Path) -> None:
    train = (
        *("train", shop / "train.csv", *READ, "--rating-range", 1, 5, "--method", "budgeted"),
        *("--rank", 0, "--rounds", 1, "--epsilon", 5, "--delta", "1e-4", "--allow-dropped", 1),
    )
    few = tmp_path / "few.csv"
    few.write_text("\n".join((shop / "items.csv").read_text().splitlines()[:9]) + "\n")
    first = run(*train, "--catalogue", few, "--out", tmp_path / "first")
    assert first.exit_code == 0, first.output
    assert "--start" not in first.stderr
    second = run(
        *(*train, "--catalogue", shop / "items.csv"),
        *("--start", tmp_path / "first", "--out", tmp_path / "second"),
    )
    assert "--start knows 8 of the 40 items of the catalogue" in second.stderr
