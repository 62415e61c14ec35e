"""Sweeps of DPALS over one setting."""

from __future__ import annotations

import pytest

from reproduction.central.sweeps import Sweep
from reproduction.context import Context
from reproduction.scoring import Draws
from tests.reproduction.worlds import shrink

MAKERS = [Sweep.of_ratings, Sweep.of_clicks]


def test_the_yardstick_can_be_beaten(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    for make in MAKERS:
        sweep = make(Context("quick"))
        yardstick = sweep.yardstick()
        better, worse = (Draws((yardstick.mean + step,)) for step in (-0.1, 0.1))
        assert sweep.holds(yardstick, {"x": better}).agrees is not sweep.task.explicit
        assert sweep.holds(yardstick, {"x": worse}).agrees is sweep.task.explicit
