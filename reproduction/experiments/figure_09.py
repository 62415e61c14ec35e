"""Figure 9 of the DPALS paper: the rank at each epsilon, for ratings and for clicks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction.central.sweeps import LABEL, UNCLIPPED, Point, Sweep
from reproduction.central.tasks import NO_NOISE
from reproduction.central.yardstick import NOT_PRIVATE
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws

FREQUENT = {1.0: 0.05, 5.0: 0.2, 10.0: 0.4, 20.0: 0.6, NO_NOISE: 1.0}
"""Fraction of the items trained at each epsilon, near table 4's for ratings."""
Curves = Mapping[int, Mapping[float, Point]]


def run(context: Context) -> Result:
    epsilons = context.pick(quick=(1.0, 20.0), full=(1.0, 5.0, 20.0))
    ranks = context.pick(quick=(2, 8), full=(4, 12, 32))
    figure, panels = plotting.panels(2, width=5.6, height=4.0)
    rows: list[dict[str, Any]] = []
    findings: list[Finding] = []
    notes = [LABEL]
    for make, axes in zip((Sweep.of_ratings, Sweep.of_clicks), panels, strict=True):
        sweep = make(context)
        kind = "ratings" if sweep.task.explicit else "clicks"
        sweep.total = len(ranks) * (len(epsilons) + 1)
        curves = {
            rank: {
                epsilon: sweep.at(
                    epsilon,
                    rank=rank,
                    frequent_share=FREQUENT[epsilon],
                    **(UNCLIPPED if epsilon == NO_NOISE else {}),
                )
                for epsilon in (*epsilons, NO_NOISE)
            }
            for rank in ranks
        }
        metric = sweep.task.metric
        rows += [
            {
                "task": kind,
                "rank": rank,
                "epsilon": None if epsilon == NO_NOISE else epsilon,
                "metric": metric,
                **point.value.cells("value"),
            }
            for rank, points in curves.items()
            for epsilon, point in points.items()
        ]
        findings += judge(kind, curves, lower_is_better=sweep.task.explicit)
        yardstick = sweep.yardstick()
        private = {
            f"{kind}, rank {rank}, epsilon {epsilon:g}": points[epsilon]
            for rank, points in curves.items()
            for epsilon in epsilons
        }
        findings.append(sweep.holds(yardstick, private))
        _draw(axes, sweep.task.title, metric, epsilons, curves, yardstick)
        notes.append(f"{kind}: delta {sweep.task.delta:.2g}, {sweep.usual['max_ratings']} ratings a user.")
    columns = columns_of("task | rank | epsilon [none: no noise] | metric | value .4 | spread .4")
    return Result(
        [Table("Each rank at each epsilon", columns, rows, shown=60)], findings, figure, notes=notes
    )


def judge(kind: str, curves: Curves, *, lower_is_better: bool) -> list[Finding]:
    better = min if lower_is_better else max
    epsilons = list(next(iter(curves.values())))
    winner = {e: better((p[e].value.mean, rank) for rank, p in curves.items())[1] for e in epsilons}
    shown = ", ".join(f"{rank} at epsilon {e:g}" for e, rank in winner.items() if e != NO_NOISE)
    private = [e for e in epsilons if e != NO_NOISE]
    return [
        Finding(
            f"{kind.capitalize()}: without noise a higher rank is better.",
            f"Best rank without noise: {winner[NO_NOISE]} of {', '.join(map(str, curves))}.",
            winner[NO_NOISE] == max(curves) or winner[NO_NOISE] > winner[min(private)],
        ),
        Finding(
            f"{kind.capitalize()}: at small epsilon a lower rank is better than at large epsilon.",
            f"Best rank: {shown}.",
            winner[min(private)] <= winner[max(private)] and winner[min(private)] < winner[NO_NOISE],
        ),
    ]


def _draw(
    axes: plotting.Axes, title: str, metric: str, epsilons: Sequence[float], curves: Curves, yardstick: Draws
) -> None:
    for number, (rank, points) in enumerate(curves.items()):
        plotting.curve(
            axes,
            epsilons,
            [points[epsilon].value for epsilon in epsilons],
            label=f"rank {rank}",
            number=number,
        )
        quiet = points[NO_NOISE].value.mean
        plotting.baseline(axes, quiet, "_unnamed", number=number, linestyle=":")
    plotting.baseline(axes, yardstick.mean, NOT_PRIVATE)
    plotting.epsilon_axis(axes, epsilons)
    axes.set(title=f"Which rank at which budget? (dotted: no noise)\n{title}", ylabel=f"test {metric}")
    plotting.label_lines(axes)


EXPERIMENT = Experiment(
    name="figure-9",
    title="Figure 9: the rank",
    source="Private Alternating Least Squares (DPALS), appendix, figure 9",
    shows="Error (ratings) and recall (clicks) against epsilon for models of different ranks.",
    paper_found="Without privacy a higher rank is better. With it, rank 128 is good at large epsilon and not at "
    "epsilon 1 on MovieLens 10M; on MovieLens 20M rank 32 is best but near epsilon 20.",
    run=run,
)
