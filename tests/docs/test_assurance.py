"""The page of assurance is what the stored findings say, and nothing in it is refuted."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
FINDINGS = json.loads((ROOT / "benchmarks/results/audit.json").read_text())


def test_the_page_is_made_from_the_findings(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "benchmarks/assurance.py"))["write_document"](FINDINGS, tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == (ROOT / "benchmarks/results/assurance.md").read_text()


def test_what_must_be_true_was_found() -> None:
    """Lower bounds of at least 0.9 of the claim and never above it; planted bugs caught; no false alarm."""
    for name in ("budgeted", "dpals", "frank-wolfe", "devices"):
        for epsilon in (1, 4, 8):
            found = FINDINGS[f"game/{name}/{epsilon}"]
            assert 0.9 <= found["lower_bound"] / found["claimed"] <= 1.0, (name, epsilon)
            assert FINDINGS[f"planted/{name}/{epsilon}"]["caught"], (name, epsilon)
    for pair in ("start", "catalogue"):  # the claim: what the second model's statement says first
        found = FINDINGS[f"game/two runs, {pair}/4"]
        assert found["claimed"] > 4.0
        assert 0.9 <= found["lower_bound"] / found["claimed"] <= 1.0, pair
    for key, found in FINDINGS.items():
        assert found.get("passed", True), key
        assert found.get("alarms", 0) == 0, key
