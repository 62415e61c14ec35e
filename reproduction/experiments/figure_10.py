"""Figure 10 of the DPALS paper: how many items to train on at each epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from reproduction.central.sweeps import CLIPS, LABEL, Point, Sweep, penalties
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

Curves = Mapping[float, Sequence[Point]]


def run(context: Context) -> Result:
    """One curve over the fraction of trained items for each epsilon."""
    sweep = Sweep.of_ratings(context)
    shares = context.pick(quick=(0.05, 0.3, 1.0), full=(0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0))
    epsilons = context.pick(quick=(1.0, 20.0), full=(1.0, 5.0, 10.0, 20.0))
    sweep.total = len(shares) * len(epsilons)
    if not context.quick:
        sweep.grid = [*sweep.grid, *penalties(150.0)]
    curves = {epsilon: sweep.over(epsilon, "frequent_share", shares) for epsilon in epsilons}
    parts = list(sweep.data_fractions(shares))
    rows = [
        {
            "epsilon": epsilon,
            "trained items": share,
            "their ratings": part,
            "RMSE": point.value.mean,
            "spread": point.value.spread,
            "penalty": point.chosen["penalty"],
        }
        for epsilon, points in curves.items()
        for share, part, point in zip(shares, parts, points, strict=True)
    ]
    columns = (
        Column("epsilon"),
        Column("trained items", "fraction", 2),
        Column("their ratings", "fraction", 3),
        Column("RMSE", digits=4),
        Column("spread", digits=4),
        Column("penalty", digits=0),
    )
    notes = (
        LABEL,
        CLIPS,
        f"delta {sweep.task.delta:g}; rank {sweep.usual['rank']}, "
        f"{sweep.usual['max_ratings']} ratings a user, adaptive "
        "sampling. The fraction of ratings is an exact statistic, drawn for the axis.",
    )
    table = Table("Test error for each fraction of trained items", columns, rows)
    return Result([table], judge(shares, parts, curves), _draw(shares, parts, curves), notes=notes)


def judge(shares: Sequence[float], parts: Sequence[float], curves: Curves) -> list[Finding]:
    """Hold the best fractions against the paper's."""
    places = {e: int(np.argmin([point.value.mean for point in points])) for e, points in curves.items()}
    best = {epsilon: shares[place] for epsilon, place in places.items()}
    shown = ", ".join(f"{share:g} at epsilon {epsilon:g}" for epsilon, share in best.items())
    low, high = min(best), max(best)
    gain = {e: points[-1].value.mean - points[places[e]].value.mean for e, points in curves.items()}
    return [
        Finding(
            "As epsilon falls, the best fraction of items falls.", f"Best: {shown}.", best[low] < best[high]
        ),
        Finding(
            "At epsilon 1 the best is a small part of the items (5 %) that has more than half of the ratings.",
            f"At epsilon {low:g} the best {best[low]:g} of the items have {parts[places[low]]:.0%} of the ratings.",
            best[low] <= 0.1 and parts[places[low]] > 0.3,
        ),
        Finding(
            "The split into frequent and infrequent items matters most at small epsilon.",
            f"Training on all items instead of the best fraction costs {gain[low]:.4f} at epsilon {low:g} and "
            f"{gain[high]:.4f} at epsilon {high:g}.",
            gain[low] > gain[high],
        ),
    ]


def _draw(shares: Sequence[float], parts: Sequence[float], curves: Curves) -> Figure:
    figure, panels = plotting.panels(2, sharey=True)
    for axes, x, label in zip(
        panels, (shares, parts), ("fraction of items trained", "fraction of ratings they have"), strict=True
    ):
        for number, (epsilon, points) in enumerate(curves.items()):
            plotting.curve(
                axes,
                x,
                [point.value.mean for point in points],
                [point.value.spread for point in points],
                label=f"epsilon {epsilon:g}",
                number=number,
            )
        axes.set_xlabel(label)
    panels[0].set_ylabel("test RMSE")
    plotting.log_axis(panels[0], "x")
    plotting.legend(panels[0])
    figure.suptitle("How many items to train on")
    return figure


EXPERIMENT = Experiment(
    name="figure-10",
    title="Figure 10: training on frequent items",
    source="Private Alternating Least Squares (DPALS), appendix, figure 10",
    shows="Test error against the fraction of items that are trained, for several epsilons; the rest is predicted by "
    "the user's own mean.",
    paper_found="On MovieLens 10M the best fraction falls with epsilon; at epsilon 1 it is 5 % of the films, which "
    "still have more than half of the ratings.",
    run=run,
)
