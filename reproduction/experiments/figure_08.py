"""Figure 8 of the DPALS paper: fewer users for DPALS than for Frank-Wolfe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from discreet.methods.budgeted.private.contributions import BudgetedALS
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.private.frank_wolfe import FrankWolfe
from reproduction.central.tasks import Task
from reproduction.central.three_tasks import PUBLISHED
from reproduction.central.yardstick import NOT_PRIVATE
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws, at_epsilons, gets_no_worse, yardstick_holds
from reproduction.tuning import Space, choice, log_integer, log_uniform

QUARTER = 0.25
USUAL: Mapping[str, Any] = {"entry_clip": 1.5, "user_exponent": 0.5}
FRANK_WOLFE, OURS = "Frank-Wolfe, all users", "budgeted ALS (ours), all users"
DPALS_SPACE: Space = {
    "rank": log_integer(4, 24),
    "penalty": log_uniform(8.0, 50.0),
    "rounds": choice((2, 3)),
    "row_clip": log_uniform(0.1, 0.4),
}
DPALS_FIRST = [
    {"rank": 16, "penalty": penalty, "rounds": 3, "row_clip": 0.25} for penalty in (20.0, 15.0, 28.0)
]
FRANK_WOLFE_SPACE: Space = {"rounds": log_integer(4, 30), "nuclear_scale": log_uniform(4.0, 24.0)}
FRANK_WOLFE_FIRST = [
    {"rounds": rounds, "nuclear_scale": scale} for rounds, scale in ((12, 8.0), (6, 8.0), (24, 16.0))
]
Curves = Mapping[str, Mapping[float, Draws]]
"""Errors by curve and epsilon."""


def run(context: Context) -> Result:
    task = Task.of_top_items(context)
    epsilons = context.pick(quick=(0.8, 16.0), full=(0.8, 4.0, 8.0, 16.0))
    shares = context.pick(quick=(0.25, 1.0), full=(0.125, 0.25, 0.5, 1.0))
    trials, draws = context.number_of_trials(), context.number_of_draws()
    order = context.rng("users").permutation(task.train.n_users)
    usual = max(1, round(task.usual_count))
    curves: dict[str, dict[float, Draws]] = {}
    rows: list[dict[str, Any]] = []
    total = len(epsilons) * (len(shares) + 2)

    def enter(name: str, users: int, epsilon: float, value: Draws, settings: Mapping[str, Any]) -> None:
        curves.setdefault(name, {})[epsilon] = value
        chosen = ", ".join(f"{key} {found:.3g}" for key, found in settings.items())
        rows.append(
            {
                "method": name,
                "users": users,
                "epsilon": epsilon,
                **value.cells("RMSE"),
                "settings": chosen or "defaults",
            }
        )
        context.report("points", len(rows), total)

    for epsilon in epsilons:
        for share in shares:
            some = task.train.take_users(np.sort(order[: math.ceil(share * len(order))]))
            make = partial(DPALS, typical_ratings=task.usual_count, **USUAL)
            found = task.tune_and_repeat(
                named(share),
                make,
                epsilon,
                draws,
                trials=trials,
                space=DPALS_SPACE,
                first=DPALS_FIRST,
                train=some,
            )
            enter(named(share), some.n_users, epsilon, *found)
        wolfe = partial(FrankWolfe, centre="mean", typical_ratings=usual)
        found = task.tune_and_repeat(
            FRANK_WOLFE,
            wolfe,
            epsilon,
            draws,
            trials=trials,
            space=FRANK_WOLFE_SPACE,
            first=FRANK_WOLFE_FIRST,
        )
        enter(FRANK_WOLFE, len(order), epsilon, *found)
        ours = task.tune_and_repeat(OURS, BudgetedALS, epsilon, draws, trials=0)
        enter(OURS, len(order), epsilon, *ours)
    plain = task.without_privacy(draws)
    rows.append(
        {
            "method": NOT_PRIVATE,
            "users": len(order),
            **plain.cells("RMSE"),
            "settings": "defaults",
        }
    )
    columns = columns_of("method | users | epsilon | RMSE .4 | spread .4 | settings")
    notes = (
        f"DPALS and Frank-Wolfe: settings chosen at each point on a validation split by {trials} trials each; the "
        "search is not charged. Budgeted ALS is not tuned; ALS without privacy chooses its settings from the data.",
        "Every model is scored on the same ratings of all users, those who were not trained on included: they are "
        f"folded in from their own ratings. delta {task.delta:g}.",
    )
    table = Table("Test error for each number of users", columns, rows, shown=60)
    figure = _draw(curves, task.title, {task.trivial()[0]: task.trivial()[1], NOT_PRIVATE: plain.mean})
    findings = [
        *judge(curves),
        yardstick_holds({"": plain}, at_epsilons(curves)),
        gets_no_worse({OURS: curves[OURS]}),
    ]
    return Result([table], findings, figure, data=[task.data.sentence], notes=notes)


def named(share: float) -> str:
    """DPALS with a share of the users."""
    return "DPALS, all users" if share == 1.0 else f"DPALS, 1/{round(1 / share)} of the users"


def judge(curves: Curves) -> list[Finding]:
    mean = {name: {e: draws.mean for e, draws in points.items()} for name, points in curves.items()}
    dpals = [points for name, points in mean.items() if name.startswith("DPALS")]
    whole, quarter, wolfe, ours = (mean[name] for name in (named(1.0), named(QUARTER), FRANK_WOLFE, OURS))
    falls = [e for e in whole if all(whole[e] <= points[e] <= dpals[0][e] for points in dpals)]
    fewer = [e for e in whole if quarter[e] < wolfe[e]]
    gains = {e: 1 - whole[e] / wolfe[e] for e in whole}
    ratios = [ours[e] / min(whole[e], wolfe[e]) for e in whole]
    return [
        Finding(
            "At each epsilon, more users make the model better.",
            f"From the fewest users to all, the error falls from {_listed(dpals[0])} to {_listed(whole)}; all users "
            f"are best and the fewest worst at {_epsilons(falls)}.",
            len(falls) == len(whole),
        ),
        Finding(
            "DPALS with about a quarter of the users is better than Frank-Wolfe with all of them.",
            f"{_listed(quarter)} against {_listed(wolfe)}: better at {_epsilons(fewer)}.",
            len(fewer) == len(whole),
        ),
        Finding(
            "With all users DPALS is better than Frank-Wolfe (by 7 to 11.6 %, the more the larger epsilon).",
            f"By {', '.join(f'{gain:.1%} at {e:g}' for e, gain in gains.items())}.",
            all(gain > 0 for gain in gains.values()),
        ),
        Finding(
            "Ours, not the paper's: budgeted ALS, not tuned, is ahead of both with all users.",
            f"Its error is {min(ratios):.3f} to {max(ratios):.3f} times the better of the two.",
            max(ratios) < 1.0,
        ),
    ]


def _listed(errors: Mapping[float, float]) -> str:
    return ", ".join(f"{error:.4f}" for error in errors.values())


def _epsilons(values: list[float]) -> str:
    return "epsilon " + ", ".join(f"{value:g}" for value in values) if values else "no epsilon"


def _draw(curves: Curves, title: str, levels: Mapping[str, float]) -> plotting.Figure:
    figure, (axes, other) = plotting.panels(2, width=6.0, height=4.2, width_ratios=(2, 1))
    for number, (name, points) in enumerate(curves.items()):
        plotting.curve(
            axes,
            list(points),
            points.values(),
            label=name,
            number=number,
            linestyle="-" if name.startswith("DPALS") else "--",
        )
    for (name, level), style in zip(levels.items(), (":", "-."), strict=True):
        plotting.baseline(axes, level, name, linestyle=style)
    published = PUBLISHED["ML-10M-top400"]
    plotting.epsilon_axis(axes, list(curves[OURS]))
    axes.set(title=f"What do more users bring?\n{title}", ylabel="test RMSE")
    plotting.label_lines(axes)
    means, spreads = zip(*published.values(), strict=True)
    source = "DPALS, 69,692 users of\nMovieLens 10M, 400 films"
    plotting.published_elsewhere(
        other, list(published), means, spread=spreads, source=source, xlabel="epsilon"
    )
    plotting.epsilon_axis(other, list(published))
    return figure


EXPERIMENT = Experiment(
    name="figure-8",
    title="Figure 8: the number of users",
    source="Private Alternating Least Squares (DPALS), appendix, figure 8",
    shows="Test error against epsilon for DPALS trained on different numbers of users, beside private Frank-Wolfe and "
    "budgeted ALS trained on all of them.",
    paper_found="On the 400 most rated films of MovieLens 10M more users make a better model, and DPALS with 16,000 "
    "users is better than Frank-Wolfe with all 69,692.",
    run=run,
)
