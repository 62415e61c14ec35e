"""Figure 10 of the DPALS paper: how many items to train on at each epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reproduction.central.sweeps import LABEL, Point, Sweep
from reproduction.central.yardstick import NOT_PRIVATE, Yardstick
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of

Curves = Mapping[float, Sequence[Point]]


def run(context: Context) -> Result:
    """One curve over the fraction of trained items for each epsilon."""
    sweep = Sweep.of_ratings(context)
    shares = context.pick(quick=(0.05, 0.3, 1.0), full=(0.02, 0.05, 0.15, 0.4, 1.0))
    epsilons = context.pick(quick=(1.0, 20.0), full=(1.0, 5.0, 10.0, 20.0))
    sweep.total = len(shares) * len(epsilons)
    curves = {epsilon: sweep.over(epsilon, "frequent_share", shares) for epsilon in epsilons}
    parts = list(sweep.data_fractions(shares))
    rows = [
        {
            "epsilon": epsilon,
            "trained items": share,
            "their ratings": part,
            "RMSE": point.value.mean,
            "spread": point.value.spread,
            "settings": point.settings,
        }
        for epsilon, points in curves.items()
        for share, part, point in zip(shares, parts, points, strict=True)
    ]
    columns = columns_of(
        "epsilon | trained items [fraction] .2 | their ratings [fraction] .3 | RMSE .4 | spread .4 | settings"
    )
    notes = (
        LABEL,
        f"delta {sweep.task.delta:g}; {sweep.usual['max_ratings']} ratings a user, adaptive sampling. "
        " The fraction of ratings is an exact statistic, drawn for the axis.",
    )
    table = Table("Test error for each fraction of trained items", columns, rows)
    yardstick = sweep.yardstick()
    private = {
        f"epsilon {epsilon:g}, {share:g} of the items": point
        for epsilon, points in curves.items()
        for share, point in zip(shares, points, strict=True)
    }
    findings = [*judge(shares, parts, curves), sweep.holds(yardstick, private)]
    figure = _draw(shares, parts, curves, yardstick, sweep.task.title)
    return Result([table], findings, figure, notes=notes)


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


def _draw(
    shares: Sequence[float], parts: Sequence[float], curves: Curves, yardstick: Yardstick, title: str
) -> plotting.Figure:
    figure, panels = plotting.panels(2, width=5.2, height=3.9, sharey=True)
    asked = {
        "How many items to train on?": (shares, "fraction of items trained"),
        "How many ratings do they have?": (parts, "fraction of ratings of the trained items"),
    }
    for axes, (question, (x, label)) in zip(panels, asked.items(), strict=True):
        for number, (epsilon, points) in enumerate(curves.items()):
            plotting.curve(
                axes, x, [point.value for point in points], label=f"epsilon {epsilon:g}", number=number
            )
        plotting.baseline(axes, yardstick.value.mean, NOT_PRIVATE)
        axes.set(title=f"{question}\n{title}", xlabel=label)
    panels[0].set_ylabel("test RMSE")
    plotting.log_axis(panels[0], "x")
    plotting.label_lines(panels[1])
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
