"""Tables and pictures of a comparison over silos, and what it is asked beyond the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from reproduction.output import plotting
from reproduction.result import Finding, Table, columns_of
from reproduction.scoring import gets_no_worse, yardstick_holds
from reproduction.silos.methods import POPULARITY, USER_MEAN
from reproduction.silos.runs import (
    ALONE,
    ALS_CENTRAL,
    BEST_OPEN,
    CENTRAL,
    FEDERATED,
    K_MEANS,
    POOLED,
    RANDOM,
    Design,
    Line,
)

MEASURES = {"train": "train RMSE", "test": "test RMSE", "rank": "mean percentile rank"}

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
    "'Best without privacy' is ALS, or a mean where a mean is better on training ratings that are held out once more.",
    "In the pictures errors end at 1.5 times that of the user mean; what lies beyond is in the table.",
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
    columns = columns_of(
        "method | epsilon | delta | k | l | lambda | train RMSE .4 | train RMSE spread .4 | test RMSE .4 | "
        "test RMSE spread .4 | mean percentile rank .4 | mean percentile rank spread .4 | over user mean [%] .1 | "
        "silos .1 | distinct prototypes .1 | chosen"
    )
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
        row |= {"chosen": line.settings or None}
        for which, name in MEASURES.items():
            row |= {name: line.mean(which), f"{name} spread": line.draws(which).spread}
        rows.append(row | {"over user mean": 100.0 * (line.mean("test") / own - 1.0)})
    return Table(title, columns, rows, key=key, shown=120)


_AS_GOOD = 1.001
"""Up to so many times an error counts as the same."""


def beyond_the_paper(lines: Sequence[Line], design: Design) -> list[Finding]:
    """Prototypes and federated ALS against the user's own mean; and two checks."""
    return [
        _judge_prototypes(lines, design),
        _federated(lines, design),
        _yardstick(lines),
        gets_no_worse(
            {
                name: {line.point.epsilon or 0.0: line.draws("test") for line in found}
                for name in (FEDERATED, POOLED)
                if (found := [line for line in find(lines, name) if line.scores])
            },
            name="federated or central private ALS",
        ),
    ]


def _yardstick(lines: Sequence[Line]) -> Finding:
    private = {
        (
            "",
            f"{line.point.method}, k {line.point.k}, l {line.point.rank}, epsilon {line.point.epsilon:g}",
        ): line.draws("test")
        for line in lines
        if line.point.epsilon is not None and line.scores
    }
    return yardstick_holds({"": level(lines, BEST_OPEN, "test")}, private)


def _judge_prototypes(lines: Sequence[Line], design: Design) -> Finding:
    own = level(lines, USER_MEAN, "test")
    runs = [line for line in lines if line.point.method in design.prototypes and line.scores]
    best = {
        name: min((line for line in runs if line.point.method == name), key=lambda line: line.mean("test"))
        for name in design.prototypes
    }
    said = [
        f"{line.mean('test'):.3f} ({name}, k {line.point.k}, epsilon {line.point.epsilon:g})"
        for name, line in best.items()
    ]
    return Finding(
        "(ours) Each kind of private prototypes is better than the user's own mean, which is free, at some setting.",
        f"RMSE at best {', '.join(said)}, against {own:.3f}.",
        all(_AS_GOOD * line.mean("test") < own for line in best.values()),
    )


def _federated(lines: Sequence[Line], design: Design) -> Finding:
    own = level(lines, USER_MEAN, "test")
    errors = {epsilon: level(lines, FEDERATED, "test", epsilon=epsilon) for epsilon in design.epsilons}
    known = [value for value in errors.values() if not math.isnan(value)]
    said = [
        f"{'refused' if math.isnan(value) else f'{value:.3f}'} (epsilon {epsilon:g})"
        for epsilon, value in errors.items()
    ]
    return Finding(
        "(ours) Federated ALS is better than the user's own mean at some epsilon, and worse at none.",
        f"RMSE {', '.join(said)}, against {own:.3f}.",
        _AS_GOOD * min(known, default=math.inf) < own and max(known) <= _AS_GOOD * own,
    )


def draw(lines: Sequence[Line], design: Design, world: str) -> plotting.Figure:
    """The two private ways to work together, against epsilon, beside working alone and what is free."""
    figure, panels = plotting.panels(2, width=6.2, height=4.2)
    for axes, which in zip(panels, ("test", "rank"), strict=True):
        for number, name in enumerate((FEDERATED, POOLED)):
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
