"""Pictures of a comparison over silos, each with one question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from reproduction.output import plotting
from reproduction.silos.design import (
    ALONE,
    ALS_CENTRAL,
    BEST_OPEN,
    CENTRAL,
    FEDERATED,
    FIXED,
    K_MEANS,
    POOLED,
    RANDOM,
    TUNED,
    Design,
)
from reproduction.silos.methods import POPULARITY, USER_MEAN
from reproduction.silos.runs import Line
from reproduction.silos.tables import MEASURES, find, level


def draw(lines: Sequence[Line], design: Design, world: str) -> plotting.Figure:
    """The two private ways to work together, against epsilon, beside working alone and what is free."""
    figure, panels = plotting.panels(2, width=6.2, height=4.2)
    for axes, which in zip(panels, ("test", "rank"), strict=True):
        for number, name in enumerate((FEDERATED, POOLED, TUNED)):
            _plot(axes, find(lines, name), "epsilon", which, name, number)
        _level(axes, lines, which, ALONE, "-.", rank=design.rank, penalty=design.penalty)
        _level(axes, lines, which, USER_MEAN, "--")
        if which == "test":
            _level(axes, lines, which, BEST_OPEN, "-")  # chosen by its error, so it says nothing of ranks
        else:
            _level(axes, lines, which, CENTRAL, "-", rank=design.rank, penalty=design.penalty)
            _level(axes, lines, which, POPULARITY, ":")
        plotting.epsilon_axis(axes, design.epsilons)
        axes.set_title(f"What do silos gain together?\n{world}")
        _finish(axes, lines, which)
    return figure


def more(lines: Sequence[Line], design: Design) -> dict[str, plotting.Figure]:
    """Prototypes against epsilon, against their number, and everything against the latent dimension."""
    return {
        "prototypes": _prototypes(lines, design),
        "k": _against_k(lines, design),
        "l": _against_l(lines, design),
    }


def _prototypes(lines: Sequence[Line], design: Design) -> plotting.Figure:
    figure, panels = plotting.panels(2, width=6.6, height=4.0)
    for axes, which in zip(panels, ("test", "rank"), strict=True):
        for number, name in enumerate(design.prototypes):
            found = find(lines, name, k=design.k, rank=design.rank, penalty=design.penalty)
            _plot(axes, found, "epsilon", which, name, number)
        _level(axes, lines, which, K_MEANS, ":", k=design.k, rank=design.rank)
        _level(axes, lines, which, USER_MEAN, "--")
        plotting.epsilon_axis(axes, design.epsilons)
        axes.set_title(f"Which prototypes are best? k {design.k}, l {design.rank}")
        _finish(axes, lines, which)
    return figure


def _against_k(lines: Sequence[Line], design: Design) -> plotting.Figure:
    figure, panels = plotting.panels(len(design.k_epsilons), width=6.6, height=4.0)
    for axes, epsilon in zip(panels, design.k_epsilons, strict=True):
        for number, name in enumerate(design.prototypes):
            found = find(lines, name, epsilon=epsilon, rank=design.rank, penalty=design.penalty)
            _plot(axes, found, "k", "test", name, number)
        for number, name in ((3, K_MEANS), (4, RANDOM)):
            _plot(axes, find(lines, name, rank=design.rank), "k", "test", name, number, linestyle="--")
        plotting.log_axis(axes, "x")
        axes.set(
            title=f"How many prototypes? epsilon {epsilon:g}, l {design.rank}",
            xlabel="k, prototypes of a silo",
        )
        _finish(axes, lines, "test")
    return figure


def _against_l(lines: Sequence[Line], design: Design) -> plotting.Figure:
    figure, panels = plotting.panels(2, width=6.6, height=4.0)
    private, other = panels
    for number, name in enumerate(design.prototypes):
        found = find(lines, name, epsilon=design.epsilon, k=design.k, penalty=design.penalty)
        _plot(private, found, "rank", "test", f"{name}, epsilon {design.epsilon:g}", number)
    if design.rank_epsilon is not None:
        label = f"{FIXED}, epsilon {design.rank_epsilon:g}"
        _plot(private, find(lines, FIXED), "rank", "test", label, 3)
    for number, name in enumerate((K_MEANS, RANDOM)):
        _plot(other, find(lines, name, k=design.k), "rank", "test", name, number)
    for number, name in enumerate((CENTRAL, ALONE), 2):
        _plot(other, find(lines, name, penalty=design.penalty), "rank", "test", name, number)
    _plot(other, find(lines, ALS_CENTRAL), "rank", "test", ALS_CENTRAL, 4)
    for axes, kind in ((private, "private"), (other, "not private")):
        axes.set(title=f"How many dimensions, {kind}? k {design.k}", xlabel="l, latent dimension")
        _finish(axes, lines, "test")
    return figure


def _plot(
    axes: plotting.Axes, found: Sequence[Line], x: str, which: str, label: str, number: int, **look: Any
) -> None:
    points = sorted((getattr(line.point, x), line.mean(which), line.draws(which).spread) for line in found)
    points = [point for point in points if not math.isnan(point[1])]
    if points:
        plotting.curve(axes, *map(list, zip(*points, strict=True)), label=label, number=number, **look)


def _level(
    axes: plotting.Axes, lines: Sequence[Line], which: str, name: str, linestyle: str, **wanted: Any
) -> None:
    value = level(lines, name, which, **wanted)
    if not math.isnan(value):
        plotting.baseline(axes, value, name, linestyle=linestyle)


def _finish(axes: plotting.Axes, lines: Sequence[Line], which: str) -> None:
    """Errors far above what is free are cut off, and lines named."""
    bottom, reached = axes.get_ylim()
    top = 0.55 if which == "rank" else 1.5 * level(lines, USER_MEAN, which)
    top = min(reached, max(top, bottom))
    axes.set(ylabel=MEASURES[which], ylim=(bottom - 0.04 * (top - bottom), top))
    plotting.label_lines(axes)
