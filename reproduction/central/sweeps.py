"""DPALS over a range of one setting, its penalties chosen anew at every point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.methods.dpals.estimator import DPALS
from reproduction.central.tasks import Task
from reproduction.context import Context
from reproduction.scoring import Draws

__all__ = ["CLIPS", "LABEL", "UNCLIPPED", "Point", "Sweep", "penalties"]

LABEL = "The penalty (for clicks also gravity) is chosen at every point on a validation split, which is not charged."
CLIPS = (
    "Users' vectors are clipped to 0.2 (ratings) or 0.08 (clicks) and centred ratings to 1.5, not to the paper's 1 and "
    "5: on the market half of the vectors are shorter than 0.45 (clicks: 0.15) and hardly one is longer than 1, so "
    "noise in proportion to 1 would be several times louder than it need be."
)
UNCLIPPED = {"row_clip": 1.0, "entry_clip": "auto", "rounds": 6}
"""Settings for runs without noise."""


@dataclass(frozen=True)
class Point:
    """The score at one place of a sweep, over some noise draws, and the settings that were chosen there."""

    value: Draws
    chosen: Mapping[str, Any]


@dataclass
class Sweep:
    """A task and the settings that stay the same.

    Parameters
    ----------
    task
        Data and scores.
    usual
        Settings of DPALS that every point shares.
    grid
        Settings of which the best are chosen at every point.
    draws
        Noise draws of the chosen settings.
    total
        How many points there will be, for the report.
    """

    task: Task
    usual: Mapping[str, Any]
    grid: Sequence[Mapping[str, Any]]
    draws: int = 1
    total: int = 0
    _done: int = field(default=0, init=False)

    @classmethod
    def of_ratings(cls, context: Context, *, draws: int = 2) -> Sweep:
        """Ratings of all items."""
        task = Task.of_ratings(context)
        usual = {
            "rank": context.pick(quick=4, full=16),
            "max_ratings": 50,
            "row_clip": 0.2,
            "entry_clip": 1.5,
            "typical_ratings": task.usual_count,
        }
        grid = penalties(*context.pick(quick=(15.0, 40.0), full=(5.0, 15.0, 40.0, 80.0)))
        return cls(task, usual, grid, context.number_of_draws(quick=1, full=draws))

    @classmethod
    def of_clicks(cls, context: Context, *, draws: int = 2) -> Sweep:
        """Clicks, with gravity chosen beside the penalty."""
        task = Task.of_clicks(context)
        usual = {
            "rank": context.pick(quick=4, full=16),
            "rounds": 4,
            "max_ratings": min(60, int(task.usual_count)),
            "row_clip": 0.08,
            "start_scale": 0.2,
            "noise_ratio": 1.0,
            "item_exponent": 0.0,
            "user_exponent": 0.0,
            "typical_ratings": task.usual_count,
        }
        grid = [
            {"penalty": penalty, "gravity": gravity}
            for penalty in context.pick(quick=(20.0,), full=(10.0, 25.0))
            for gravity in (0.3, 1.0)
        ]
        return cls(task, usual, grid, context.number_of_draws(quick=1, full=draws))

    def at(self, epsilon: float, **settings: Any) -> Point:
        """Choose from the grid on the validation split, then score on the test."""
        task, better = self.task, min if self.task.explicit else max
        tried = [task.score(self._make(settings, extra), epsilon, task.valid) for extra in self.grid]
        chosen = self.grid[tried.index(better(tried))]
        value = task.repeat(lambda: self._make(settings, chosen), epsilon, self.draws)
        self._done += 1
        task.context.report("points", self._done, max(self.total, self._done))
        return Point(value, chosen)

    def over(self, epsilon: float, name: str, values: Sequence[Any], **settings: Any) -> list[Point]:
        """A point for each value of one setting."""
        return [self.at(epsilon, **(settings | {name: value})) for value in values]

    def data_fractions(self, shares: Sequence[float]) -> Iterator[float]:
        """What part of the ratings the items have that a share of the catalogue makes; exact, for the axis."""
        train = self.task.train
        counts = np.sort(np.bincount(train.items, minlength=train.n_items))[::-1]
        for share in shares:
            yield float(counts[: int(np.ceil(share * len(counts)))].sum() / counts.sum())

    def _make(self, settings: Mapping[str, Any], chosen: Mapping[str, Any]) -> DPALS:
        return DPALS(**{**self.usual, **settings, **chosen})


def penalties(*values: float) -> list[dict[str, float]]:
    """A grid of penalties."""
    return [{"penalty": value} for value in values]
