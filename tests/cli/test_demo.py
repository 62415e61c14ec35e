"""``discreet demo`` as a person would run it."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from discreet.cli import demo
from tests.cli.conftest import Run


@pytest.mark.slow
def test_the_whole_demo() -> None:
    started = time.monotonic()
    command = [sys.executable, "-m", "discreet", "demo", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert time.monotonic() - started < 60
    content = json.loads(done.stdout)
    recall = {row["method"]: row["recall@20"] for row in content["comparison"]}
    five, one = recall["private, epsilon 5"], recall["private, epsilon 1"]
    assert recall["popularity, not private"] * 1.05 < one < five < recall["ALS, not private"]
    assert content["statement"]["goal"] == "rank"
    assert content["statement"]["private"] is True
    assert content["statement"]["epsilon"] <= 1.0
    assert len(content["recommendations"]) == 5
    assert not {entry["item"] for entry in content["recommendations"]} & set(demo.NEWCOMER)


def test_for_people(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("USERS", 400), ("RATINGS", 12_000)):
        monkeypatch.setattr(demo, name, size)
    text = run("demo").stdout
    for part in (
        "popularity, not private",
        "recall@20",
        "trained to rank",
        "private, epsilon 1",
        "Privacy statement",
        "For the newcomer",
        "item-0007 5",
    ):
        assert part in text
