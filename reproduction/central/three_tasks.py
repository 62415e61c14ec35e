"""DPALS and the default method on one of the DPALS paper's tasks, at each of its epsilons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.methods.budgeted.private.contributions import BudgetedALS
from discreet.methods.ease.estimator import EASE
from discreet.methods.method import PrivateMethod
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.public.dpals_noise import PRESETS
from reproduction.central.tasks import TOP, Task
from reproduction.scoring import Draws
from reproduction.tuning import Space, choice, log_integer, log_uniform

PUBLISHED: Mapping[str, Mapping[float, tuple[float, float]]] = {
    "ML-10M-top400": {
        0.8: (0.8855, 0.0025),
        4.0: (0.8321, 0.0009),
        8.0: (0.8201, 0.0011),
        16.0: (0.8147, 0.0008),
    },
    "ML-10M": {1.0: (0.9398, 0.0009), 5.0: (0.8725, 0.0006), 10.0: (0.8530, 0.0004), 20.0: (0.8373, 0.0005)},
    "ML-20M": {1.0: (0.3120, 0.0016), 5.0: (0.3330, 0.0010), 10.0: (0.3368, 0.0012), 20.0: (0.3444, 0.0013)},
}
"""Mean and standard deviation of DPALS by task and epsilon, from table 5."""
TAIL, WEIGHTS, OURS = "DPALS", "DPALS, adaptive weights", "the default (ours)"
VARIANTS: Mapping[str, dict[str, Any]] = {TAIL: {}, WEIGHTS: {"sampling": "weights"}}
USUAL: Mapping[str, dict[str, Any]] = {
    "ratings": {"entry_clip": 1.5, "user_exponent": 0.5},
    "clicks": {
        "max_ratings": 40,
        "item_exponent": 0.0,
        "user_exponent": 0.0,
        "start_scale": 0.2,
        "noise_ratio": 1.0,
    },
}
"""Settings that are not searched, or not in every trial."""


@dataclass(frozen=True)
class Panel:
    """One task's scores by method and epsilon, and the levels they are held against."""

    task: str
    title: str
    metric: str
    explicit: bool
    scores: Mapping[str, Mapping[float, Draws]]
    settings: Mapping[tuple[str, float], Mapping[str, Any]]
    trivial: tuple[str, float]
    plain: Draws
    as_published: bool

    def loss(self, value: float, other: float) -> float:
        """How much worse a score is than another, as a fraction of the other; below 0 where it is better."""
        return value / other - 1.0 if self.explicit else 1.0 - value / other


def compete(
    task: Task, epsilons: Sequence[float], trials: int, draws: int, report: Callable[[], None]
) -> Panel:
    """Both kinds of DPALS, tuned at each epsilon, and the default method, untuned."""
    usual = USUAL["ratings" if task.explicit else "clicks"] | {"typical_ratings": task.usual_count}
    scores: dict[str, dict[float, Draws]] = {name: {} for name in (*VARIANTS, OURS)}
    chosen: dict[tuple[str, float], Mapping[str, Any]] = {}

    def enter(name: str, epsilon: float, make: Callable[..., PrivateMethod], **search: Any) -> None:
        found = task.tune_and_repeat(name, make, epsilon, draws, trials=trials if search else 0, **search)
        scores.setdefault(name, {})[epsilon], chosen[name, epsilon] = found

    for epsilon in epsilons:
        for name, fixed in VARIANTS.items():
            make = partial(DPALS, **usual, **fixed)
            enter(name, epsilon, make, space=space(task), first=first(task, epsilon))
        enter(OURS, epsilon, BudgetedALS if task.explicit else EASE)
        report()
    return Panel(
        task.name,
        task.title,
        task.metric,
        task.explicit,
        scores,
        chosen,
        task.trivial(),
        task.without_privacy(draws),
        task.data.as_published,
    )


def space(task: Task) -> Space:
    """What is searched: the settings of the paper's table 3, in ranges that suit less data than its own."""
    few = task.train.n_items <= TOP
    common: Space = {
        "rank": log_integer(4, 24),
        "rounds": choice((2, 3, 4)),
        "frequent_share": choice((1.0,)) if few else log_uniform(0.04, 1.0),
    }
    if task.explicit:
        return {
            **common,
            "max_ratings": choice((25, 50, 100)),
            "penalty": log_uniform(8.0, 50.0),
            "user_exponent": choice((0.5, 1.0)),
            "row_clip": log_uniform(0.1, 0.4),
        }
    return {
        **common,
        "max_ratings": choice((20, 40, 60)),
        "penalty": log_uniform(5.0, 40.0),
        "gravity": log_uniform(0.1, 3.0),
        "row_clip": log_uniform(0.05, 0.2),
    }


def first(task: Task, epsilon: float) -> list[dict[str, Any]]:
    """Tried before the drawn ones: a small and a large model; on the paper's own data its own settings too."""
    low, high = (1.0, 1.0) if task.train.n_items <= TOP else (0.1, 0.4)
    if task.explicit:
        given: list[dict[str, Any]] = [
            {"rank": 8, "penalty": 40.0, "rounds": 3, "frequent_share": low, "row_clip": 0.15},
            {"rank": 16, "penalty": 28.0, "rounds": 3, "frequent_share": high, "row_clip": 0.25},
        ]
    else:
        given = [
            {
                "rank": 8,
                "penalty": 20.0,
                "rounds": 4,
                "frequent_share": 0.1,
                "gravity": 0.7,
                "row_clip": 0.06,
            },
            {
                "rank": 16,
                "penalty": 20.0,
                "rounds": 3,
                "frequent_share": 0.2,
                "gravity": 0.3,
                "row_clip": 0.12,
            },
        ]
    if task.data.as_published:
        preset = PRESETS[f"{task.name.lower()}-eps-{epsilon:g}"].settings
        given.append({name: value for name, value in preset.items() if not name.startswith("sigma")})
    return given
