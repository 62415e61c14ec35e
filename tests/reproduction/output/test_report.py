"""The results page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.errors import SettingsInvalid
from reproduction import Context, Finished, perform
from reproduction.output.record import write
from reproduction.output.report import build_report
from tests.reproduction.made_up import experiment


def test_the_page_has_everything_a_reader_needs(finished: Finished, tmp_path: Path) -> None:
    write(finished, tmp_path / "results")
    page = build_report(tmp_path / "results", tmp_path / "docs").read_text()
    for part in (
        "A paper, figure 2",
        "Something else.",
        "| It is 0.7. | 0.8. | no |",
        "| x | y | not comparable |",
        "| 2 | – |",
        "A made-up world.",
        "3 draws each, seed 4",
        "- Tuned by hand.",
    ):
        assert part in page
    assert "**More**" not in page


def test_the_report_refuses_quick_runs_unless_asked_and_marks_them(tmp_path: Path) -> None:
    write(perform(experiment(), Context("quick")), tmp_path)
    with pytest.raises(SettingsInvalid, match=r"figure-2 in .* quick runs.*--allow-quick"):
        build_report(tmp_path, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
    assert "**Quick run" in build_report(tmp_path, tmp_path / "docs", allow_quick=True).read_text()


def test_a_table_that_cannot_be_read_is_named(finished: Finished, tmp_path: Path) -> None:
    write(finished, tmp_path)
    record = json.loads((tmp_path / "figure-2.json").read_text())
    for damaged in ([{}], ["x"], 3, [{**record["tables"][0], "columns": []}]):
        (tmp_path / "figure-2.json").write_text(json.dumps({**record, "tables": damaged}))
        with pytest.raises(SettingsInvalid, match=r"figure-2\.json holds a table that cannot be read"):
            build_report(tmp_path, tmp_path / "docs")
