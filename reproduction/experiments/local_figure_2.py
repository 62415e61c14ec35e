"""Figure 2 of the local paper: how far noise moves the items, with and without projection and correction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.channel import Channel, OneCoordinate
from reproduction.local.world import EPSILONS, World, each_world, free_levels, score_rows
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws

GD, GD_CORRECTED = "private GD", "private GD, corrected"
DR, DR_CORRECTED = "private GD-DR", "private GD-DR, corrected"
SLOWER = "private GD, rate times q / items"
SLOPES = {GD: -1.035, GD_CORRECTED: -0.975, DR: -1.028}
"""As the paper gives them."""


@dataclass(frozen=True)
class Panel:
    """Errors in one world: for each method one number an epsilon, and that of items which never moved."""

    world: str
    errors: Mapping[str, Mapping[float, Draws]]
    untouched: float
    user_mean: float
    global_mean: float

    def slope(self, method: str) -> float:
        """Of the logarithm of the error over that of epsilon."""
        points = self.errors[method]
        logs = [math.log(value.mean) for value in points.values()]
        return float(np.polyfit(np.log(list(points)), logs, 1)[0])

    def last(self) -> float:
        """Error with both projection and correction at the largest epsilon."""
        return list(self.errors[DR_CORRECTED].values())[-1].mean

    def last_slope(self) -> float:
        """Slope between the two largest budgets, with both."""
        (small, before), (large, after) = list(self.errors[DR_CORRECTED].items())[-2:]
        return math.log(after.mean / before.mean) / math.log(large / small)


def run(context: Context) -> Result:
    epsilons = context.pick(quick=(0.1, 0.4, 1.6), full=EPSILONS)
    draws = context.number_of_draws()
    panels = each_world(context, lambda world: measure(world, epsilons, draws))
    columns = columns_of(
        "data | method | epsilon | largest error of V | spread | slope .3 | published slope .3"
    )
    rows = [row for panel in panels for row in tabulate(panel)]
    notes = (
        f"The learning rate is the non-private descent's best of {context.number_of_trials()}, the same for all. "
        "The error is the largest difference "
        "of any entry of V from the non-private descent with the same start.",
        "The pseudo-inverse gives back q / items of a gradient on average, so a part of what the projection gains is a "
        f"smaller step: '{SLOWER}' is algorithm 1 with a step as small, and no projection.",
        "RMSE of the free baselines: "
        + free_levels((panel.world, panel.user_mean, panel.global_mean) for panel in panels)
        + ".",
    )
    table = Table("Largest error of an item's profile after 10 rounds", columns, rows, shown=90)
    figure = _draw(panels, "Do projection and correction help?", (GD, GD_CORRECTED, DR, DR_CORRECTED))
    more = {"step": _draw(panels, "Is it the smaller step?", (GD, DR, SLOWER))}
    return Result([table], judge(panels), figure, notes=notes, more=more)


def measure(world: World, epsilons: Sequence[float], draws: int) -> Panel:
    exact = world.exact().items
    share = world.dimensions / world.train.n_items
    ways: dict[str, tuple[Channel, float, float]] = {
        GD: (OneCoordinate(), 0.0, world.rate),
        GD_CORRECTED: (OneCoordinate(), 2.0, world.rate),
        DR: (world.projected, 0.0, world.rate),
        DR_CORRECTED: (world.projected, 2.0, world.rate),
        SLOWER: (OneCoordinate(), 0.0, world.rate * share),
    }
    errors = {
        name: {
            epsilon: Draws(
                tuple(
                    float(np.abs(run.items - exact).max())
                    for run in (
                        world.run(channel, epsilon, rate=rate, correction=power) for _ in range(draws)
                    )
                )
            )
            for epsilon in epsilons
        }
        for name, (channel, power, rate) in ways.items()
    }
    still = float(np.abs(world.untouched.items - exact).max())
    return Panel(world.name, errors, still, world.user_mean, world.global_mean)


def tabulate(panel: Panel) -> list[dict[str, Any]]:
    slopes = {method: panel.slope(method) for method in panel.errors}
    rows = score_rows(
        panel.world, {"V as it began": panel.untouched}, panel.errors, metric="largest error of V"
    )
    for row in rows[1:]:
        row |= {"slope": slopes[row["method"]], "published slope": SLOPES.get(row["method"])}
    return rows


def judge(panels: Sequence[Panel]) -> list[Finding]:
    slopes = {(p.world, method): p.slope(method) for p in panels for method in SLOPES}
    pairs = [(p, e) for p in panels for e in p.errors[GD]]
    lower = [p.errors[DR][e].mean < p.errors[GD][e].mean for p, e in pairs]
    corrected = [
        p.errors[c][e].mean < p.errors[m][e].mean
        for p, e in pairs
        for m, c in ((GD, GD_CORRECTED), (DR, DR_CORRECTED))
    ]
    near = [p for p in panels if p.last() < 2.0 * p.untouched]
    steep = {p.world: p.last_slope() for p in near}
    best = {p.world: min(v.mean for points in p.errors.values() for v in points.values()) for p in panels}
    gain, step = (
        math.exp(float(np.mean([math.log(p.errors[GD][e].mean / p.errors[other][e].mean) for p, e in pairs])))
        for other in (DR, SLOWER)
    )
    return [
        Finding(
            "Errors fall like 1 / epsilon (slopes of about -1), unless projection and correction go together.",
            "Slopes " + ", ".join(f"{value:.2f} ({w}, {m})" for (w, m), value in slopes.items()) + ".",
            all(abs(value + 1.0) < 0.15 for value in slopes.values()),
        ),
        Finding(
            "The projection makes errors much smaller.", f"In {sum(lower)} of {len(lower)} cases.", all(lower)
        ),
        Finding(
            "The correction factor makes errors much smaller.",
            f"In {sum(corrected)} of {len(corrected)} cases.",
            all(corrected),
        ),
        Finding(
            "With both, errors stop falling at larger epsilon, where noise has become as small as bias.",
            "Slope of the last step, where the error is less than twice that of V as it began: "
            + (", ".join(f"{value:.2f} ({world})" for world, value in steep.items()) or "nowhere")
            + ".",
            all(value > -0.5 for value in steep.values()) if steep else None,
        ),
        Finding(
            "(ours) Private V is nearer to the non-private one than V is that was never updated.",
            ", ".join(f"{best[p.world]:.3g} against {p.untouched:.3g} ({p.world})" for p in panels) + ".",
            all(best[p.world] < 0.99 * p.untouched for p in panels),
        ),
        Finding(
            "(ours) Most of what the projection gains is a smaller step.",
            f"Errors shrink by a factor of {gain:.0f} (geometric mean), by {step:.0f} with no projection and a step "
            "smaller by q / items.",
            step**2 > gain,
        ),
    ]


def _draw(panels: Sequence[Panel], question: str, names: Sequence[str]) -> plotting.Figure:
    figure, all_axes = plotting.panels(len(panels), width=5.6, height=3.9)
    for axes, panel in zip(all_axes, panels, strict=True):
        for number, (method, points) in enumerate(panel.errors.items()):
            if method in names:
                plotting.curve(axes, list(points), points.values(), label=method, number=number)
        plotting.baseline(axes, panel.untouched, "V as it began", linestyle=":")
        plotting.epsilon_axis(axes, list(panel.errors[GD]))
        axes.set(title=f"{question}\n{panel.world}", ylabel="largest error of V", yscale="log")
        plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="local-figure-2",
    title="Local figure 2: errors of the item profiles",
    source="Privacy Enhanced Matrix Factorization with Local Differential Privacy (2018), figure 2",
    shows="The largest error of any item profile after 10 rounds against epsilon, for one-bit gradient descent with "
    "and without random projection and correction factor.",
    paper_found="On MovieLens 20M errors fall with slopes -1.035, -0.975 (corrected) and -1.028 (projected); with both "
    "the error stays where it is from epsilon 0.2 on.",
    run=run,
)
