"""Sweeps of DPALS over one setting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reproduction.central.sweeps import UNCLIPPED, Sweep
from reproduction.central.tasks import NO_NOISE
from reproduction.context import Context
from reproduction.scoring import Draws
from tests.reproduction.worlds import shrink

MAKERS = [Sweep.of_ratings, Sweep.of_clicks]


@pytest.mark.parametrize("make", MAKERS)
def test_the_better_settings_are_chosen(
    make: Callable[[Context], Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    sweep = make(Context("quick"))
    sweep.usual = {**sweep.usual, **UNCLIPPED}
    sweep.space = {}
    good, bad = {"rank": 3, "penalty": 3.0}, {"rank": 3, "penalty": 1e9}
    sweep.trials = 2
    for number, first in enumerate(([good, bad], [bad, good])):
        sweep.first = first
        point = sweep.at(NO_NOISE + number)
        assert point.chosen == good
    sweep.first = [bad, bad]
    worst = sweep.at(NO_NOISE + 2).value.mean
    assert point.value.mean < worst if sweep.task.explicit else point.value.mean > worst


def test_a_point_for_each_value_with_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    seen: list[tuple[int, int]] = []
    context = Context("quick", draws=3, report=lambda stage, done, total: seen.append((done, total)))
    sweep = Sweep.of_ratings(context)
    sweep.total = 2
    few, many = sweep.over(5.0, "frequent_share", (0.1, 1.0), rank=2)
    assert len(few.value.values) == len(set(few.value.values)) == 3  # noise is drawn anew
    assert few.value.mean != many.value.mean
    assert seen == [(1, 2), (2, 2)]


def test_what_a_point_fixes_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    sweep = Sweep.of_ratings(Context("quick"))
    point = sweep.at(5.0, rank=3, penalty=7.0)
    assert set(point.chosen) == {"row_clip", "entry_clip", "rounds"}
    assert "row_clip" in point.settings


def test_the_yardstick_is_tuned_alike_and_can_be_beaten(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    for make in MAKERS:
        sweep = make(Context("quick"))
        yardstick = sweep.yardstick()
        assert yardstick.trials == sweep.trials + 1 == 4  # one of our default
        better, worse = (Draws((yardstick.value.mean + step,)) for step in (-0.1, 0.1))
        assert sweep.holds(yardstick, {"x": better}).agrees is not sweep.task.explicit
        assert sweep.holds(yardstick, {"x": worse}).agrees is sweep.task.explicit


def test_data_fractions_are_those_of_the_most_rated(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    sweep = Sweep.of_ratings(Context("quick"))
    counts = sorted(np.bincount(sweep.task.train.items, minlength=120).tolist(), reverse=True)
    expected = [sum(counts[:12]) / sum(counts), 1.0]
    assert list(sweep.data_fractions((0.1, 1.0))) == pytest.approx(expected)
