"""Figures 5 and 6 of the local paper: how errors of predictions are distributed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.evaluation import metrics
from discreet.types import Floats
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.rotated import ROTATED, UNTUNED, error_distribution, rotated_predictions
from reproduction.local.world import TUNING, World, each_world
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table, columns_of

OWN, ALL, EXACT = "user mean", "global mean", "non-private GD"
STARS = (0.25, 0.5, 0.75, 1.0, 1.1, 1.5, 2.0, 2.5, 3.0, 4.0)
"""Limits, on a scale four stars long."""
NEAR = 1.1
"""Not a whole star: a user's mean is often exactly one star off, and would be counted in or out by its last digit."""


def private(epsilon: float) -> str:
    """A private descent's name."""
    return f"private GD-DR, epsilon {epsilon:g}"


def rotated(epsilon: float) -> str:
    """The rotated mechanism's name."""
    return f"{ROTATED}, epsilon {epsilon:g}"


@dataclass(frozen=True)
class Panel:
    """One world's shares of test ratings within each limit, for each method."""

    world: str
    limits: Sequence[float]
    shares: Mapping[str, Sequence[Floats]]
    epsilons: Sequence[float]
    heading: str = ""

    def mean(self, method: str) -> Floats:
        """Over all draws."""
        return np.asarray(np.mean(self.shares[method], axis=0))

    def spread(self, method: str) -> Floats:
        """Standard deviation over draws, 0 of a single one."""
        rows = np.asarray(self.shares[method])
        return np.asarray(np.std(rows, axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1]))

    def within(self, method: str, limit: float) -> float:
        """Share within one limit."""
        return float(self.mean(method)[list(self.limits).index(limit)])


def run(context: Context) -> Result:
    epsilons = context.pick(quick=(0.1, 1.6), full=(0.1, 0.4, 1.6))
    panels = each_world(context, lambda world: measure(world, epsilons, context.number_of_draws()))
    columns = (
        *columns_of("data | method"),
        *(Column(f"within {limit:g}", "%", 1) for limit in STARS),
        *columns_of("largest spread [%] .2"),
    )
    rows = [
        {"data": p.world, "method": m}
        | {f"within {limit:g}": 100 * value for limit, value in zip(STARS, p.mean(m), strict=True)}
        | {"largest spread": 100 * float(p.spread(m).max())}
        for p in panels
        for m in p.shares
    ]
    notes = (
        TUNING,
        UNTUNED,
        "Limits are in units of a quarter of the scale's length: stars on a scale of 1 to 5.",
        f"Private GD-DR with the best of {context.number_of_trials()} rates at each epsilon and the correction factor; "
        "shares are means over noise draws.",
    )
    table = Table("Share of test ratings that are predicted within a limit", columns, rows, shown=60)
    budgets = _draw(
        panels, "Does a larger budget bring errors down?", lambda p: list(map(private, p.epsilons))
    )
    return Result([table], judge(panels), budgets, notes=notes)


def measure(world: World, epsilons: Sequence[float], draws: int) -> Panel:
    test = world.test
    assert test.rating_range is not None
    star = (test.rating_range[1] - test.rating_range[0]) / 4.0
    overall = metrics.global_mean(world.train)
    predicted = {
        OWN: [world.user_mean_predictions],
        ALL: [np.full(test.n_ratings, overall)],
        EXACT: [world.predictions(world.exact(), test)],
    }
    for epsilon in epsilons:
        rate = world.tuned_rate(world.projected, epsilon)
        runs = (world.run(world.projected, epsilon, rate=rate) for _ in range(draws))
        predicted[private(epsilon)] = [world.predictions(run, test) for run in runs]
    for epsilon in (epsilons[0], epsilons[-1]):
        predicted[rotated(epsilon)] = [rotated_predictions(world, epsilon) for _ in range(draws)]
    limits = [limit * star for limit in STARS]
    shares = {
        name: [error_distribution(one, test.values, limits) for one in several]
        for name, several in predicted.items()
    }
    return Panel(world.name, STARS, shares, epsilons, world.heading)


def judge(panels: Sequence[Panel]) -> list[Finding]:
    small, large = private(panels[0].epsilons[0]), private(panels[0].epsilons[-1])
    grown = {p.world: p.within(large, NEAR) - p.within(small, NEAR) for p in panels}
    free = {p.world: p.within(large, NEAR) - p.within(OWN, NEAR) for p in panels}
    ours = {p.world: p.within(rotated(p.epsilons[-1]), NEAR) - p.within(OWN, NEAR) for p in panels}
    return [
        Finding(
            "More predictions are near the rating at a larger epsilon.",
            "Share within 1.1 stars: " + _listed(grown) + ".",
            all(value > 0 for value in grown.values()),
        ),
        Finding(
            "(ours) More predictions are near than with the user's own mean, at the largest epsilon.",
            "Share within 1.1 stars: " + _listed(free) + ".",
            all(value > 0 for value in free.values()),
        ),
        Finding(
            "(ours) The rotated mechanism's predictions are as often near as the user's own mean.",
            "Share within 1.1 stars: " + _listed(ours) + ".",
            all(value >= -0.001 for value in ours.values()),
        ),
    ]


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{100 * value:+.2f} points ({world})" for world, value in shares.items())


def _draw(panels: Sequence[Panel], question: str, names: Callable[[Panel], Sequence[str]]) -> plotting.Figure:
    figure, all_axes = plotting.panels(len(panels), width=5.4, height=3.8)
    for axes, panel in zip(all_axes, panels, strict=True):
        _lines(axes, panel, names(panel))
        axes.set_title(f"{question}\n{panel.heading}")
        plotting.label_lines(axes)
    return figure


def _lines(axes: plotting.Axes, panel: Panel, names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        more = 100 * (panel.mean(name) - panel.mean(OWN))
        plotting.curve(
            axes, panel.limits, list(more), list(100 * panel.spread(name)), label=name, number=number
        )
    plotting.baseline(axes, 0.0, OWN)
    axes.set(xlabel="within so many stars", ylabel="share of test ratings over\nthe user mean's, points")


EXPERIMENT = Experiment(
    name="local-figure-5",
    title="Local figure 5: distribution of prediction errors",
    source="Privacy Enhanced Matrix Factorization with Local Differential Privacy (2018), figures 5 and 6",
    shows="The share of test ratings predicted within each distance, private and not, beside the user's own mean.",
    paper_found="Errors shrink as epsilon grows, faster on MovieLens than on LibimSeTi; the curves are drawings only.",
    run=run,
)
