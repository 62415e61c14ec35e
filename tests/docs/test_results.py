"""The results page is what the stored records give, and records are all that is stored."""

from __future__ import annotations

from pathlib import Path

from reproduction import registry
from reproduction.output.record import picture, read_all
from reproduction.output.report import results_page

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproduction" / "results"


def test_the_results_page_is_made_from_the_records() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert page == results_page(RESULTS, ROOT / "docs"), "run: make results"


def test_every_experiment_has_one_record_with_its_pictures() -> None:
    records = read_all(RESULTS)
    assert [record["name"] for record in records] == registry.names()
    expected = {f"{record['name']}.json" for record in records}
    expected |= {picture(record["name"], key) for record in records for key in record["pictures"]}
    assert {path.name for path in RESULTS.iterdir()} == expected
