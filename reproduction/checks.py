"""Checks that an experiment makes on itself, computed from its numbers and shown as findings of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reproduction.result import Finding
from reproduction.scoring import Draws

__all__ = ["gets_no_worse", "yardstick_holds"]


def yardstick_holds(
    yardstick: Mapping[str, float], private: Mapping[tuple[str, str], float], *, lower_is_better: bool = True
) -> Finding:
    """Whether the model without privacy loses to nothing private: if it does, it was tuned too little.

    Parameters
    ----------
    yardstick
        Its score at each place: a data set or a number of users.
    private
        Scores by place and method.
    """
    sign = 1.0 if lower_is_better else -1.0
    gaps = {
        (place, method): sign * (value - yardstick[place])
        for (place, method), value in private.items()
        if not math.isnan(value) and not math.isnan(yardstick[place])
    }
    claim = "(check) The model without privacy, tuned by at least as many trials, loses to nothing private."
    if not gaps:
        return Finding(claim, "Nothing to compare.", None)
    ahead = [
        f"{_at(place, method)} ({private[place, method]:.4f} against {yardstick[place]:.4f})"
        for (place, method), gap in gaps.items()
        if gap < 0
    ]
    nearest = min(gaps, key=lambda key: gaps[key])
    return Finding(
        claim,
        f"Ahead of it: {'; '.join(ahead)}."
        if ahead
        else f"The nearest is {_at(*nearest)}: {private[nearest]:.4f} against {yardstick[nearest[0]]:.4f}.",
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


def _spread(value: Draws) -> float:
    return 0.0 if math.isnan(value.spread) else value.spread


def _at(place: str, method: str) -> str:
    return f"{method}, {place}" if place else method
