"""DPALS over a range of one setting, all its other settings chosen anew at every point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from discreet.methods.published.private.dpals import DPALS
from reproduction.central.tasks import Task
from reproduction.context import Context
from reproduction.result import Finding
from reproduction.scoring import Draws, yardstick_holds
from reproduction.tuning import Space, choice, log_integer, log_uniform

LABEL = (
    "All settings of DPALS but the one on the axis are chosen anew at every point by the same number of trials on a "
    "validation split, which is not charged; the model without privacy chooses its own from the data."
)
UNCLIPPED = {"row_clip": 1.0, "entry_clip": "auto", "rounds": 6}
"""Settings for runs without noise."""


@dataclass(frozen=True)
class Point:
    """The score at one place of a sweep, over some noise draws, and the settings that were chosen there."""

    value: Draws
    chosen: Mapping[str, Any]

    @property
    def settings(self) -> str:
        """The chosen settings in words."""
        return ", ".join(f"{name} {value:.3g}" for name, value in self.chosen.items())


@dataclass
class Sweep:
    """A task and the settings that stay the same."""

    task: Task
    usual: Mapping[str, Any]
    space: Space
    first: Sequence[Mapping[str, Any]]
    trials: int
    draws: int
    total: int = 0
    _done: int = field(default=0, init=False)

    @classmethod
    def of_ratings(cls, context: Context) -> Sweep:
        """Ratings of all items."""
        task = Task.of_ratings(context)
        usual = {"max_ratings": 50, "typical_ratings": task.usual_count}
        space: Space = {
            "rank": context.pick(quick=log_integer(2, 6), full=log_integer(4, 24)),
            "penalty": log_uniform(2.0, 150.0),
            "row_clip": log_uniform(0.1, 0.5),
            "entry_clip": choice((1.0, 1.5, 2.5)),
            "rounds": choice((2, 3, 4)),
        }
        first = [
            {"rank": rank, "penalty": penalty, "row_clip": 0.2, "entry_clip": 1.5, "rounds": 3}
            for rank, penalty in context.pick(quick=((4, 15.0),), full=((8, 40.0), (16, 15.0)))
        ]
        return cls(task, usual, space, first, context.number_of_trials(), context.number_of_draws())

    @classmethod
    def of_clicks(cls, context: Context) -> Sweep:
        """Clicks, with gravity chosen beside the penalty."""
        task = Task.of_clicks(context)
        usual = {
            "max_ratings": min(60, int(task.usual_count)),
            "start_scale": 0.2,
            "noise_ratio": 1.0,
            "item_exponent": 0.0,
            "user_exponent": 0.0,
            "typical_ratings": task.usual_count,
        }
        space: Space = {
            "rank": context.pick(quick=log_integer(2, 6), full=log_integer(4, 32)),
            "penalty": log_uniform(5.0, 60.0),
            "gravity": log_uniform(0.1, 3.0),
            "row_clip": log_uniform(0.05, 0.2),
            "rounds": choice((3, 4)),
        }
        first = [
            {"rank": rank, "penalty": 20.0, "gravity": gravity, "row_clip": 0.08, "rounds": 4}
            for rank, gravity in context.pick(quick=((4, 0.7),), full=((8, 0.7), (16, 0.3)))
        ]
        return cls(task, usual, space, first, context.number_of_trials(), context.number_of_draws())

    def at(self, epsilon: float, **settings: Any) -> Point:
        """Choose the other settings on the validation split, then score on the test."""
        value, chosen = self.task.tune_and_repeat(
            ", ".join(f"{name} {settings[name]}" for name in sorted(settings)),
            partial(DPALS, **{**self.usual, **settings}),
            epsilon,
            self.draws,
            trials=self.trials,
            space={name: values for name, values in self.space.items() if name not in settings},
            first=[{n: v for n, v in one.items() if n not in settings} for one in self.first],
        )
        self._done += 1
        self.task.context.report("points", self._done, max(self.total, self._done))
        return Point(value, chosen)

    def yardstick(self) -> Draws:
        """The model without privacy."""
        return self.task.without_privacy(self.draws)

    def holds(self, yardstick: Draws, points: Mapping[str, Point | Draws]) -> Finding:
        """Whether ALS without privacy loses to none of these."""
        scores = {name: one.value if isinstance(one, Point) else one for name, one in points.items()}
        return yardstick_holds(
            {"": yardstick},
            {("", name): value for name, value in scores.items()},
            lower_is_better=self.task.explicit,
        )

    def over(self, epsilon: float, name: str, values: Sequence[Any], **settings: Any) -> list[Point]:
        """A point for each value of one setting."""
        return [self.at(epsilon, **(settings | {name: value})) for value in values]

    def data_fractions(self, shares: Sequence[float]) -> Iterator[float]:
        """What part of the ratings the items have that a share of the catalogue makes; exact, for the axis."""
        train = self.task.train
        counts = np.sort(np.bincount(train.items, minlength=train.n_items))[::-1]
        for share in shares:
            yield float(counts[: int(np.ceil(share * len(counts)))].sum() / counts.sum())
