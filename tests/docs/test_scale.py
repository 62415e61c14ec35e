"""The page on size: its lines run, the second one where there is nothing to go on with."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from discreet.cli import main
from tests.docs.pages import ROOT, steps


def test_the_lines_of_the_page_on_size_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`scale.md`; runs that are killed and go on are tried in tests/engines."""
    monkeypatch.chdir(tmp_path)
    train, resume = (step.command[1:] for step in steps((ROOT / "docs" / "scale.md").read_text()))
    assert CliRunner().invoke(main, ["sample", "--users", "800", "--out", "."]).exit_code == 0
    Path("events").mkdir()
    whole = pl.read_csv("ratings.csv").select("user", "item")
    for part in (0, 1):
        whole[part::2].write_parquet(f"events/{part}.parquet")
    done = CliRunner().invoke(main, train)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "model" / "manifest.json").exists()
    done = CliRunner().invoke(main, resume)
    assert done.exit_code == 2
    assert "model.run" in done.output
