"""Tables and pictures of a comparison over silos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reproduction.output import plotting
from reproduction.result import Column, Table
from reproduction.silos.design import (
    ALONE,
    ALS_CENTRAL,
    CENTRAL,
    FEDERATED,
    FIXED,
    K_MEANS,
    POOLED,
    RANDOM,
    Design,
)
from reproduction.silos.methods import ITEM_MEAN, POPULARITY, USER_MEAN
from reproduction.silos.runs import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NOTES", "against_table", "draw", "find", "level", "table"]

_MEASURES = {"train": "train RMSE", "test": "test RMSE", "rank": "mean percentile rank"}

NOTES = (
    "Test: five ratings of one user in five, as in the paper. Train RMSE is on the other ratings of the same users. "
    "Predictions are clipped to the scale.",
    "Mean percentile rank (equation 3): where the held-out items stand among all items of the catalogue, ordered "
    "by the user's predictions before clipping, weighted with the ratings; 0 is best, 0.5 is chance, and equal "
    "predictions share their places. Where few items are rated it rewards knowing which.",
    "Prototypes with local swap are epsilon-DP (delta 0); with Lloyd steps and ALS (epsilon, delta)-DP, delta 1e-6. "
    "Federated ALS is a real run of a coordinator and ten silos with masks, noise in shares for 6 honest silos of 10; "
    "rank and rounds follow its public rule unless said otherwise. Central private ALS: a trusted server.",
    "A silo takes part in prototypes when its noisy number of users is at least 1, so that small epsilons can be seen; "
    "at the default limit most silos would be refused there. No numbers: the budget was refused as too small.",
    "'Shrunk': the values of a prototype are drawn to their mean as far as noise alone would explain how they differ, "
    "which reads nothing but what is sent anyway. 'The paper's' are sent as they come.",
    "In the picture errors end at 1.5 times that of the user mean; what lies beyond is in the table.",
)


def find(lines: Sequence[Line], method: str, **wanted: Any) -> list[Line]:
    """All lines of a method with these values of the point."""
    return [
        line
        for line in lines
        if line.point.method == method
        and all(getattr(line.point, name) == value for name, value in wanted.items())
    ]


def level(lines: Sequence[Line], method: str, which: str, **wanted: Any) -> float:
    """One number; NaN where there is no such line or every draw was refused."""
    found = find(lines, method, **wanted)
    return found[0].mean(which) if found else math.nan


def table(title: str, lines: Sequence[Line], key: str = "") -> Table:
    """One row for each line."""
    columns = [
        Column("method"),
        Column("epsilon"),
        Column("delta"),
        Column("k"),
        Column("l"),
        Column("lambda"),
    ]
    for name in _MEASURES.values():
        columns += [Column(name, digits=4), Column(f"{name} spread", digits=4)]
    columns += [
        Column("over user mean", "%", 1),
        Column("silos", digits=1),
        Column("distinct prototypes", digits=1),
    ]
    own = level(lines, USER_MEAN, "test")
    rows = []
    for line in lines:
        point = line.point
        rank = line.chosen if point.rank is None else point.rank
        row: dict[str, Any] = {
            "method": point.method,
            "epsilon": point.epsilon,
            "delta": line.delta,
            "k": point.k,
        }
        row |= {"l": rank, "lambda": point.penalty, "silos": line.silos, "distinct prototypes": line.distinct}
        for which, name in _MEASURES.items():
            row |= {name: line.mean(which), f"{name} spread": line.draws(which).spread}
        rows.append(row | {"over user mean": 100.0 * (line.mean("test") / own - 1.0)})
    return Table(title, columns, rows, key=key, shown=120)


def against_table(lines: Sequence[Line], design: Design) -> Table:
    """All private prototypes beside federated ALS at the same epsilon: how many times its error and its rank."""
    columns = (
        Column("epsilon"), Column("prototypes"), Column("k"), Column("l"), Column("lambda"), Column("RMSE", digits=4),
        Column("federated RMSE", digits=4), Column("RMSE ratio", digits=3), Column("rank", digits=4),
        Column("federated rank", digits=4), Column("rank ratio", digits=3),
    )  # fmt: skip
    rows = []
    for line in lines:
        point = line.point
        if point.method not in design.prototypes:
            continue
        row: dict[str, Any] = {"epsilon": point.epsilon, "prototypes": point.method}
        row |= {"k": point.k, "l": point.rank, "lambda": point.penalty}
        for which, title in (("test", "RMSE"), ("rank", "rank")):
            ours, theirs = level(lines, FEDERATED, which, epsilon=point.epsilon), line.mean(which)
            row |= {title: theirs, f"federated {title}": ours, f"{title} ratio": theirs / ours}
        rows.append(row)
    return Table("Prototypes over federated ALS at the same epsilon", columns, rows, key="against", shown=60)


def draw(lines: Sequence[Line], design: Design) -> Figure:
    """A row for each measure; against epsilon, k and l."""
    figure, all_axes = plotting.panels(3, 3, width=4.5, height=3.3)
    for row, (which, name) in enumerate(_MEASURES.items()):
        against_epsilon, against_k, against_l = all_axes[3 * row : 3 * row + 3]
        _against_epsilon(against_epsilon, lines, design, which)
        _against_k(against_k, lines, design, which)
        _against_l(against_l, lines, design, which)
        for axes in (against_epsilon, against_k, against_l):
            axes.set(ylabel=name)
            _keep_in_sight(axes, 0.55 if which == "rank" else 1.5 * level(lines, USER_MEAN, which))
    all_axes[0].set(title=f"k {design.k}, l {design.rank}")
    all_axes[1].set(title=f"l {design.rank}")
    all_axes[2].set(title=f"k {design.k}, epsilon {design.epsilon:g}")
    shown: dict[str, Any] = {}
    for axes in all_axes:
        shown |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=4)
    return figure


def _keep_in_sight(axes: Axes, top: float) -> None:
    bottom, reached = axes.get_ylim()
    axes.set_ylim(bottom, min(reached, top))


def _plot(
    axes: Axes, found: Sequence[Line], x: str, which: str, label: str, number: int, **look: Any
) -> None:
    points = sorted((getattr(line.point, x), line.mean(which), line.draws(which).spread) for line in found)
    points = [point for point in points if not math.isnan(point[1])]
    if points:
        plotting.curve(axes, *map(list, zip(*points, strict=True)), label=label, number=number, **look)


def _baselines(axes: Axes, lines: Sequence[Line], which: str, **levels: Any) -> None:
    chosen = [(USER_MEAN, "--", 5), (POPULARITY if which == "rank" else ITEM_MEAN, ":", 5)]
    for name, style, number in chosen:
        if find(lines, name):
            plotting.baseline(axes, level(lines, name, which), name, number=number, linestyle=style)
    for name, number in ((CENTRAL, 6), (ALONE, 7)) if levels else ():
        plotting.baseline(axes, level(lines, name, which, **levels), name, number=number, linestyle="-.")


def _against_epsilon(axes: Axes, lines: Sequence[Line], design: Design, which: str) -> None:
    for number, name in enumerate(design.prototypes):
        found = find(lines, name, k=design.k, rank=design.rank, penalty=design.penalty)
        _plot(axes, found, "epsilon", which, name, number)
    _plot(axes, find(lines, FEDERATED), "epsilon", which, FEDERATED, 3)
    _plot(axes, find(lines, POOLED), "epsilon", which, POOLED, 4)
    _baselines(axes, lines, which, rank=design.rank, penalty=design.penalty)
    plotting.epsilon_axis(axes, design.epsilons)


def _against_k(axes: Axes, lines: Sequence[Line], design: Design, which: str) -> None:
    for number, name in enumerate(design.prototypes):
        for epsilon, style in zip(design.k_epsilons, (":", "-", "--"), strict=False):
            found = find(lines, name, epsilon=epsilon, rank=design.rank, penalty=design.penalty)
            _plot(axes, found, "k", which, f"{name}, epsilon {epsilon:g}", number, linestyle=style)
    for number, name in ((8, K_MEANS), (9, RANDOM)):
        _plot(axes, find(lines, name, rank=design.rank), "k", which, name, number)
    _baselines(axes, lines, which, rank=design.rank, penalty=design.penalty)
    plotting.log_axis(axes, "x")
    axes.set_xlabel("k, prototypes of a silo")


def _against_l(axes: Axes, lines: Sequence[Line], design: Design, which: str) -> None:
    for number, name in enumerate(design.prototypes):
        found = find(lines, name, epsilon=design.epsilon, k=design.k, penalty=design.penalty)
        _plot(axes, found, "rank", which, name, number)
    for number, name in ((8, K_MEANS), (9, RANDOM)):
        _plot(axes, find(lines, name, k=design.k), "rank", which, name, number)
    for number, name in ((6, CENTRAL), (7, ALONE)):
        _plot(axes, find(lines, name, penalty=design.penalty), "rank", which, name, number, linestyle="-.")
    _plot(axes, find(lines, ALS_CENTRAL), "rank", which, ALS_CENTRAL, 4, linestyle="-.")
    if design.rank_epsilon is not None:
        label = f"{FIXED}, epsilon {design.rank_epsilon:g}"
        _plot(axes, find(lines, FIXED), "rank", which, label, 3, linestyle="--")
    _baselines(axes, lines, which)
    axes.set_xlabel("l, latent dimension")
