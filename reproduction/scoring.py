"""One number for a model on a test, one for several draws, and checks that an experiment makes on itself."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from discreet.data.ratings import Ratings
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.model import Model
from reproduction.result import Finding

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

    def cells(self, name: str = "RMSE", spread: str = "spread") -> dict[str, float]:
        """Mean and standard deviation in a row of a table."""
        return {name: self.mean, spread: self.spread}

    def __str__(self) -> str:
        return f"{self.mean:.4f}" + ("" if math.isnan(self.spread) else f" ± {self.spread:.4f}")


def repeat(run: Callable[[int], float], draws: Iterable[int]) -> Draws:
    """Run once for each draw's number."""
    return Draws(tuple(run(draw) for draw in draws))


def at_epsilons(
    lines: Mapping[str, Mapping[float, Draws]], place: str = ""
) -> dict[tuple[str, str], float | Draws]:
    """All points of some methods' lines at one place, as `yardstick_holds` takes them."""
    return {
        (place, f"{name} at epsilon {epsilon:g}"): value
        for name, points in lines.items()
        for epsilon, value in points.items()
    }


def yardstick_holds(
    yardstick: Mapping[str, float | Draws],
    private: Mapping[tuple[str, str], float | Draws],
    *,
    lower_is_better: bool = True,
) -> Finding:
    """Whether the model without privacy loses to nothing private: if it does, it was chosen badly."""
    sign = 1.0 if lower_is_better else -1.0
    levels = {place: _draws(value) for place, value in yardstick.items()}
    scores = {key: _draws(value) for key, value in private.items()}
    gaps = {
        (place, method): sign * (value.mean - levels[place].mean)
        for (place, method), value in scores.items()
        if not math.isnan(value.mean) and not math.isnan(levels[place].mean)
    }
    claim = "(check) The model without privacy loses to nothing private."
    if not gaps:
        return Finding(claim, "Nothing to compare.", None)
    said = {key: f"{_number(scores[key])} against {_number(levels[key[0]])}" for key in gaps}
    ahead = [key for key, gap in gaps.items() if -gap > _spread(scores[key]) + _spread(levels[key[0]])]
    nearest = min(gaps, key=lambda key: gaps[key])
    return Finding(
        claim,
        f"Ahead of it: {'; '.join(f'{_at(*key)} ({said[key]})' for key in ahead)}."
        if ahead
        else f"The nearest is {_at(*nearest)}: {said[nearest]}.",
        not ahead,
    )


def gets_no_worse(
    lines: Mapping[str, Mapping[float, Draws]],
    *,
    lower_is_better: bool | Mapping[str, bool] = True,
    name: str = "budgeted ALS",
) -> Finding:
    """Whether no line gets worse with more budget by more than both ends' standard deviations together."""
    worse, compared = [], 0
    for line, points in lines.items():
        down = lower_is_better if isinstance(lower_is_better, bool) else lower_is_better[line]
        epsilons = sorted(points)
        for place, small in enumerate(epsilons):
            for large in epsilons[place + 1 :]:
                compared += 1
                loss = (points[large].mean - points[small].mean) * (1.0 if down else -1.0)
                if loss > _spread(points[small]) + _spread(points[large]):
                    worse.append(
                        f"{line}: {points[small]} at epsilon {small:g}, {points[large]} at {large:g}"
                    )
    return Finding(
        f"(check) No line of {name} gets worse with more budget, beyond its spread.",
        f"Worse: {'; '.join(worse)}." if worse else f"None of {compared} pairs of budgets.",
        not worse,
    )


def _draws(value: float | Draws) -> Draws:
    return value if isinstance(value, Draws) else Draws((value,))


def _number(value: Draws) -> str:
    return f"{value.mean:.4f}" if abs(value.mean) >= 0.01 else f"{value.mean:.3g}"


def _spread(value: Draws) -> float:
    return 0.0 if math.isnan(value.spread) else value.spread


def _at(place: str, method: str) -> str:
    return f"{method}, {place}" if place else method
