"""Small worlds in place of the experiments' own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reproduction.central import tasks
from reproduction.central.sweeps import Point
from reproduction.result import Finding
from reproduction.scoring import Draws

__all__ = ["points", "shrink", "verdicts"]


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markets small enough for a test, large enough for epsilon 0.8."""
    monkeypatch.setattr(tasks, "CROWDS", {"quick": (800, 120, 20_000)})
    monkeypatch.setattr(tasks, "TOP_CROWDS", {"quick": (2_000, 60, 24_000)})


def points(*values: float) -> list[Point]:
    """A curve through these values."""
    return [Point(Draws((value,)), {"penalty": 1.0}) for value in values]


def verdicts(findings: Sequence[Finding]) -> list[bool | None]:
    """What was said of each claim."""
    return [finding.agrees for finding in findings]
