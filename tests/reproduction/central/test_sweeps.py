"""Sweeps of DPALS over one setting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reproduction.central.sweeps import UNCLIPPED, Sweep, penalties
from reproduction.central.tasks import NO_NOISE
from reproduction.context import Context
from tests.reproduction.worlds import shrink

MAKERS = [Sweep.of_ratings, Sweep.of_clicks]


@pytest.mark.parametrize("make", MAKERS)
def test_the_better_settings_are_chosen(
    make: Callable[[Context], Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    sweep = make(Context("quick"))
    sweep.usual = {**sweep.usual, **UNCLIPPED}
    good, bad = {**sweep.grid[0], "penalty": 3.0}, {**sweep.grid[0], "penalty": 1e9}
    for grid in ([good, bad], [bad, good]):
        sweep.grid = grid
        point = sweep.at(NO_NOISE)
        assert point.chosen == good
    sweep.grid = [bad]
    worst = sweep.at(NO_NOISE).value.mean
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


def test_settings_of_a_point_win_over_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    sweep = Sweep.of_ratings(Context("quick"))
    sweep.grid = penalties(7.0)
    made = sweep._make({"rank": 3, "max_ratings": 9}, sweep.grid[0]).settings
    assert (made.rank, made.max_ratings, made.penalty, made.row_clip) == (3, 9, 7.0, sweep.usual["row_clip"])


def test_data_fractions_are_those_of_the_most_rated(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    sweep = Sweep.of_ratings(Context("quick"))
    counts = sorted(np.bincount(sweep.task.train.items, minlength=120).tolist(), reverse=True)
    expected = [sum(counts[:12]) / sum(counts), 1.0]
    assert list(sweep.data_fractions((0.1, 1.0))) == pytest.approx(expected)
