"""``discreet demo`` as a person would run it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from discreet.cli import demo
from tests.cli.conftest import Run


def _seconds() -> float:
    """Processor time of processes that have ended, which other work on the machine hardly changes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
def test_the_whole_demo() -> None:
    before = _seconds()
    command = [sys.executable, "-m", "discreet", "demo", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert _seconds() - before < 60
    content = json.loads(done.stdout)
    recall = {row["method"]: row["recall@20"] for row in content["comparison"]}
    five, one = recall["private, epsilon 5"], recall["private, epsilon 1"]
    # The noise is fresh, and moves recall a little.
    assert recall["popularity, not private"] * 0.98 < one < five * 1.02
    assert content["statement"]["goal"] == "rank"
    assert content["statement"]["private"] is True
    assert content["statement"]["epsilon"] <= 1.0
    assert len(content["recommendations"]) == 5
    assert not {entry["item"] for entry in content["recommendations"]} & set(demo.NEWCOMER)


def test_for_people(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("USERS", 700), ("RATINGS", 20_000)):
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
