"""One number for a model on a test, and one for several draws."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from discreet.data.ratings import Ratings
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.model import Model

RANKED = 20
"""How many items a ranking has, as in the papers."""


def metric_name(test: Ratings) -> str:
    """``RMSE`` (lower is better) for ratings, ``Recall@20`` (higher is better) for clicks."""
    return "RMSE" if test.explicit else f"Recall@{RANKED}"


def score(model: Model, history: Ratings, test: Ratings) -> float:
    """RMSE on held-out ratings, or Recall@20 on held-out clicks; users are folded in from ``history``."""
    if test.explicit:
        return evaluate_ratings(model, history, test).rmse
    return evaluate_ranking(model, history, test, RANKED).recall


@dataclass(frozen=True)
class Draws:
    """The same number from several runs."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean; NaN without a run."""
        return statistics.fmean(self.values) if self.values else math.nan

    @property
    def spread(self) -> float:
        """Sample standard deviation; NaN below two runs."""
        return statistics.stdev(self.values) if len(self.values) > 1 else math.nan

    def __str__(self) -> str:
        return f"{self.mean:.4f}" + ("" if math.isnan(self.spread) else f" ± {self.spread:.4f}")


def repeat(run: Callable[[int], float], draws: Iterable[int]) -> Draws:
    """Run once for each draw's number."""
    return Draws(tuple(run(draw) for draw in draws))
