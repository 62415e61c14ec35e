"""Figure 11 of the DPALS paper: how many items to train on for clicks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.budgeted.estimator import BudgetedALS
from reproduction.central.sweeps import CLIPS, LABEL, Point, Sweep
from reproduction.central.three_tasks import our_space
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table
from reproduction.scoring import Draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

EPSILON = 5.0
OPTIMUM = (0.05, 0.1)
"""Where the paper found the best fraction of items."""
Curves = Mapping[int, Sequence[Point]]


def run(context: Context) -> Result:
    """One curve over the fraction of trained items for each rank."""
    sweep = Sweep.of_clicks(context)
    shares = context.pick(quick=(0.05, 0.2, 1.0), full=(0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0))
    ranks = context.pick(quick=(2, 8), full=(8, 32))
    sweep.total = len(shares) * len(ranks)
    curves = {rank: sweep.over(EPSILON, "frequent_share", shares, rank=rank) for rank in ranks}
    _, popular = sweep.task.trivial()
    ours = sweep.task.repeat(BudgetedALS, EPSILON, sweep.draws)
    trials = context.pick(quick=2, full=len(shares))
    found = sweep.task.tune(BudgetedALS, our_space(sweep.task), trials, EPSILON, first=[{}])
    tuned = sweep.task.repeat(partial(BudgetedALS, **found.settings), EPSILON, sweep.draws)
    rows = [
        {
            "rank": rank,
            "trained items": share,
            "Recall@20": point.value.mean,
            "spread": point.value.spread,
            **point.chosen,
        }
        for rank, points in curves.items()
        for share, point in zip(shares, points, strict=True)
    ]
    columns = (
        Column("rank"),
        Column("trained items", "fraction", 2),
        Column("Recall@20", digits=4),
        Column("spread", digits=4),
        Column("penalty"),
        Column("gravity"),
    )
    notes = (
        LABEL,
        CLIPS,
        f"epsilon {EPSILON:g}, delta {sweep.task.delta:.2g}; {sweep.usual['max_ratings']} clicks a user, "
        f"{sweep.usual['rounds']} rounds. Budgeted ALS at the same epsilon trains all items: {ours} untuned, "
        f"{tuned} with settings chosen by {trials} trials, fewer than DPALS has. "
        f"The items most often chosen, counted without noise: {popular:.4f}.",
    )
    table = Table("Recall for each fraction of trained items", columns, rows)
    figure = _draw(shares, curves, popular, ours, tuned)
    return Result([table], judge(shares, curves, popular, ours, tuned), figure, notes=notes)


def judge(
    shares: Sequence[float], curves: Curves, popular: float, ours: Draws, tuned: Draws
) -> list[Finding]:
    """Hold the best fractions against the paper's."""
    best = {rank: int(np.argmax([point.value.mean for point in points])) for rank, points in curves.items()}
    top = {rank: curves[rank][place].value.mean for rank, place in best.items()}
    shown = ", ".join(f"{shares[place]:g} at rank {rank} ({top[rank]:.4f})" for rank, place in best.items())
    loss = {rank: top[rank] - points[-1].value.mean for rank, points in curves.items()}
    low, high = OPTIMUM
    inside = {
        rank: max(
            point.value.mean for share, point in zip(shares, points, strict=True) if low <= share <= high
        )
        for rank, points in curves.items()
    }
    return [
        Finding(
            "The best fraction of items lies between 5 and 10 %, depending on the rank.",
            f"Best: {shown}; between 5 and 10 %: {', '.join(f'{value:.4f}' for value in inside.values())}.",
            all(_as_good(inside[rank], curves[rank][place].value) for rank, place in best.items()),
        ),
        Finding(
            "For clicks it matters much to train on a subset of the items.",
            "Training on all items costs "
            + ", ".join(f"{value:.4f} at rank {rank}" for rank, value in loss.items())
            + ".",
            all(value > 0.05 * top[rank] for rank, value in loss.items()),
        ),
        Finding(
            "The private model recommends better than popularity does.",
            f"Best recall {max(top.values()):.4f}, popularity {popular:.4f}.",
            max(top.values()) > popular,
        ),
        Finding(
            "(ours) Budgeted ALS, not tuned, is ahead of DPALS at the same epsilon, whose every point is.",
            f"{ours.mean:.4f} against {max(top.values()):.4f}.",
            ours.mean > max(top.values()),
        ),
        Finding(
            "(ours) Budgeted ALS, tuned as well, is ahead of DPALS.",
            f"{tuned.mean:.4f} against {max(top.values()):.4f}.",
            tuned.mean > max(top.values()),
        ),
    ]


def _as_good(value: float, best: Draws) -> bool:
    """Whether a score is the best, or nearer to it than noise draws are to each other."""
    return value == best.mean or best.mean - value < best.spread


def _draw(shares: Sequence[float], curves: Curves, popular: float, ours: Draws, tuned: Draws) -> Figure:
    figure, (axes,) = plotting.panels(width=8.4, height=4.2)
    for number, (rank, points) in enumerate(curves.items()):
        plotting.curve(
            axes,
            shares,
            [point.value.mean for point in points],
            [point.value.spread for point in points],
            label=f"DPALS, rank {rank}",
            number=number,
        )
    plotting.baseline(axes, ours.mean, "budgeted ALS (ours), untuned, all items", number=2)
    plotting.baseline(axes, tuned.mean, "budgeted ALS (ours), tuned, all items", number=3)
    plotting.baseline(axes, popular, "popularity, no noise", linestyle=":")
    plotting.log_axis(axes, "x")
    axes.axvspan(*OPTIMUM, color=plotting.PUBLISHED, alpha=0.07, label="published optimum")
    axes.set(
        title=f"How many items to train on, clicks, epsilon {EPSILON:g}",
        xlabel="fraction of items trained",
        ylabel="test Recall@20",
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


EXPERIMENT = Experiment(
    name="figure-11",
    title="Figure 11: training on frequent items, clicks",
    source="Private Alternating Least Squares (DPALS), appendix, figure 11",
    shows="Recall@20 against the fraction of items that are trained, at epsilon 5 for two ranks.",
    paper_found="On MovieLens 20M the best fraction is between 5 % and 10 % of the films, depending on the rank.",
    run=run,
)
