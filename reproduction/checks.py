"""Checks that an experiment makes on itself, computed from its numbers and shown as findings of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reproduction.result import Finding
from reproduction.scoring import Draws


def yardstick_holds(
    yardstick: Mapping[str, float | Draws],
    private: Mapping[tuple[str, str], float | Draws],
    *,
    lower_is_better: bool = True,
) -> Finding:
    """Whether the model without privacy loses to nothing private: if it does, it was tuned too little."""
    sign = 1.0 if lower_is_better else -1.0
    levels = {place: _draws(value) for place, value in yardstick.items()}
    scores = {key: _draws(value) for key, value in private.items()}
    gaps = {
        (place, method): sign * (value.mean - levels[place].mean)
        for (place, method), value in scores.items()
        if not math.isnan(value.mean) and not math.isnan(levels[place].mean)
    }
    claim = "(check) The model without privacy, tuned by at least as many trials, loses to nothing private."
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
