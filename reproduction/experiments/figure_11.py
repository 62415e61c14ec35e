"""Figure 11 of the DPALS paper: how many items to train on for clicks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.methods.ease.estimator import EASE
from reproduction.central.sweeps import LABEL, Point, Sweep
from reproduction.central.yardstick import NOT_PRIVATE, Yardstick
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws

EPSILON = 5.0
OPTIMUM = (0.05, 0.1)
"""Where the paper found the best fraction of items."""
Curves = Mapping[int, Sequence[Point]]


def run(context: Context) -> Result:
    """One curve over the fraction of trained items for each rank."""
    sweep = Sweep.of_clicks(context)
    shares = context.pick(quick=(0.05, 0.2, 1.0), full=(0.02, 0.05, 0.1, 0.2, 0.5, 1.0))
    ranks = context.pick(quick=(2, 8), full=(8, 32))
    sweep.total = len(shares) * len(ranks)
    curves = {rank: sweep.over(EPSILON, "frequent_share", shares, rank=rank) for rank in ranks}
    _, popular = sweep.task.trivial()
    ours, _ = sweep.task.tune_and_repeat("ours", EASE, EPSILON, sweep.draws, trials=0)
    yardstick = sweep.yardstick()
    rows = [
        {
            "rank": rank,
            "trained items": share,
            "Recall@20": point.value.mean,
            "spread": point.value.spread,
            "settings": point.settings,
        }
        for rank, points in curves.items()
        for share, point in zip(shares, points, strict=True)
    ]
    columns = columns_of("rank | trained items [fraction] .2 | Recall@20 .4 | spread .4 | settings")
    notes = (
        LABEL,
        f"epsilon {EPSILON:g}, delta {sweep.task.delta:.2g}; {sweep.usual['max_ratings']} clicks a user, "
        f"two ranks. EASE at the same epsilon chooses its head itself and is not tuned: {ours}. "
        f"The best that is {NOT_PRIVATE}: {yardstick.value}. "
        f"The items most often chosen, counted without noise: {popular:.4f}.",
    )
    table = Table("Recall for each fraction of trained items", columns, rows)
    figure = _draw(shares, curves, popular, ours, yardstick, sweep.task.title)
    private: dict[str, Point | Draws] = {"EASE": ours}
    private |= {
        f"rank {rank}, {share:g} of the items": point
        for rank, points in curves.items()
        for share, point in zip(shares, points, strict=True)
    }
    findings = [*judge(shares, curves, popular, ours), sweep.holds(yardstick, private)]
    return Result([table], findings, figure, notes=notes)


def judge(shares: Sequence[float], curves: Curves, popular: float, ours: Draws) -> list[Finding]:
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
            "(ours) EASE, not tuned, is ahead of DPALS at the same epsilon, whose every point is.",
            f"{ours.mean:.4f} against {max(top.values()):.4f}.",
            ours.mean > max(top.values()),
        ),
    ]


def _as_good(value: float, best: Draws) -> bool:
    """Whether a score is the best, or nearer to it than noise draws are to each other."""
    return value == best.mean or best.mean - value < best.spread


def _draw(
    shares: Sequence[float], curves: Curves, popular: float, ours: Draws, yardstick: Yardstick, title: str
) -> plotting.Figure:
    figure, (axes,) = plotting.panels(width=8.0, height=4.2)
    for number, (rank, points) in enumerate(curves.items()):
        plotting.curve(
            axes, shares, [point.value for point in points], label=f"DPALS, rank {rank}", number=number
        )
    plotting.baseline(axes, ours.mean, "EASE (ours), not tuned", number=2, spread=ours.spread)
    plotting.baseline(axes, yardstick.value.mean, NOT_PRIVATE, linestyle="-.")
    plotting.baseline(axes, popular, "popularity, no noise", linestyle=":")
    plotting.log_axis(axes, "x")
    axes.axvspan(*OPTIMUM, color=plotting.PUBLISHED, alpha=0.07)
    axes.set(
        title=f"How many items to train on at epsilon {EPSILON:g}?\n{title}",
        xlabel="fraction of items trained (grey: where the best is published to be, on MovieLens 20M)",
        ylabel="test Recall@20",
    )
    plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="figure-11",
    title="Figure 11: training on frequent items, clicks",
    source="Private Alternating Least Squares (DPALS), appendix, figure 11",
    shows="Recall@20 against the fraction of items that are trained, at epsilon 5 for two ranks.",
    paper_found="On MovieLens 20M the best fraction is between 5 % and 10 % of the films, depending on the rank.",
    run=run,
)
