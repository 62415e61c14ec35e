"""Figure 9 of the local paper: prediction error against the number of rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.rotated import ROTATED, UNTUNED, rotated_error
from reproduction.local.world import TUNING, EvenCoins, World, worlds
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

EPSILON = 0.1
EXACT, DR = "non-private GD", "private GD-DR"
PLAIN, LINEAR = "private GD-DR, no correction", "private GD-DR, correction 1 / k"
BATCHES = "private GD-DR, a batch a round"
COINS = "private GD-DR, even coins"
PUBLISHED = {
    EXACT: {1: 1.269, 3: 1.204, 5: 1.187, 10: 1.173, 20: 1.161, 50: 1.145},
    DR: {1: 2.960, 3: 1.697, 5: 1.500, 10: 1.409, 20: 1.381, 50: 1.372},
}


@dataclass(frozen=True)
class Panel:
    """RMSE in one world: one number a number of rounds for each method, and the levels."""

    world: str
    scores: Mapping[str, Mapping[int, float]]
    levels: Mapping[str, float]
    as_published: bool


def run(context: Context) -> Result:
    """All methods for each number of rounds in each world."""
    rounds = context.pick(quick=(1, 3, 10), full=(1, 3, 5, 10, 20, 50))
    panels = []
    found = worlds(context)
    for number, world in enumerate(found):
        panels.append(measure(world, rounds))
        context.report("worlds", number + 1, len(found))
    columns = (
        Column("data"),
        Column("method"),
        Column("rounds"),
        Column("RMSE", digits=4),
        Column("published on MovieLens 20M", digits=3),
    )
    rows = [row for panel in panels for row in tabulate(panel)]
    notes = (
        TUNING,
        UNTUNED,
        f"epsilon {EPSILON:g} for all rounds together, exactly k rounds (the paper's loop runs k + 1). The rate is the "
        "non-private descent's best at 10 rounds.",
        "'Even coins': every answer is an even coin that has nothing to do with any rating.",
        "'A batch a round': devices are dealt into k groups, each device answers once with all of its epsilon, no "
        "correction factor. Only a k-th of the devices speaks in a round, but each 1 / k of the noise.",
    )
    table = Table(f"Test RMSE at epsilon {EPSILON:g}", columns, rows, shown=120)
    return Result([table], judge(panels), _draw(panels), notes=notes)


def measure(world: World, rounds: Sequence[int]) -> Panel:
    """All methods in one world."""
    rate, channel = world.rate, world.projected
    scores: dict[str, dict[int, float]] = {name: {} for name in (EXACT, DR, LINEAR, PLAIN, BATCHES, COINS)}
    for k in rounds:
        found = {
            EXACT: world.exact(k),
            DR: world.run(channel, EPSILON, rate=rate, rounds=k),
            LINEAR: world.run(channel, EPSILON, rate=rate, rounds=k, correction=1.0),
            PLAIN: world.run(channel, EPSILON, rate=rate, rounds=k, correction=0.0),
            BATCHES: world.run(channel, EPSILON, rate=rate, rounds=k, correction=0.0, batches=k),
            COINS: world.run(EvenCoins(channel), EPSILON, rate=rate, rounds=k),
        }
        for name, outcome in found.items():
            scores[name][k] = world.error(outcome, world.test)
    levels = {
        "user mean": world.user_mean,
        "global mean": world.global_mean,
        ROTATED: rotated_error(world, EPSILON),
    }
    return Panel(world.name, scores, levels, world.as_published)


def tabulate(panel: Panel) -> list[dict[str, Any]]:
    """A world's rows: levels first."""
    film = panel.world.startswith("MovieLens")
    rows: list[dict[str, Any]] = [
        {"data": panel.world, "method": name, "RMSE": value} for name, value in panel.levels.items()
    ]
    for method, points in panel.scores.items():
        for k, value in points.items():
            published = PUBLISHED.get(method, {}).get(k) if film else None
            rows.append(
                {
                    "data": panel.world,
                    "method": method,
                    "rounds": k,
                    "RMSE": value,
                    "published on MovieLens 20M": published,
                }
            )
    return rows


def judge(panels: Sequence[Panel]) -> list[Finding]:
    """Whether rounds help with the correction and harm without, and whether it is the answers that help."""
    ends = {
        name: [(p.scores[name][min(p.scores[name])], p.scores[name][max(p.scores[name])]) for p in panels]
        for name in (DR, PLAIN, EXACT)
    }
    said = {
        p.world: sum(1 - p.scores[DR][k] / p.scores[COINS][k] for k in p.scores[DR]) / len(p.scores[DR])
        for p in panels
    }
    best = {
        p.world: min(v for m in (DR, LINEAR, PLAIN, BATCHES) for v in p.scores[m].values()) for p in panels
    }
    off = [
        abs(p.scores[name][k] / PUBLISHED[name][k] - 1)
        for p in panels
        if p.as_published
        for name in PUBLISHED
        for k in p.scores[name]
    ]
    worlds_of = [p.world for p in panels]
    return [
        Finding(
            "The published errors (within 1 %).",
            f"At most {max(off):.1%} off." if off else "Not the paper's data.",
            all(value < 0.01 for value in off) if off else None,
        ),
        Finding(
            "Without the correction factor the error does not fall with the number of rounds.",
            _moves(worlds_of, ends[PLAIN]),
            all(last >= first * 0.99 for first, last in ends[PLAIN]),
        ),
        Finding(
            "With the correction factor the error falls with the number of rounds.",
            _moves(worlds_of, ends[DR]),
            all(last < first for first, last in ends[DR]),
        ),
        Finding(
            "Without privacy the error falls with the number of rounds.",
            _moves(worlds_of, ends[EXACT]),
            all(last < first for first, last in ends[EXACT]),
        ),
        Finding(
            "(ours) It is what the devices say that brings it down: with even coins for answers the error is larger.",
            "Larger on average by "
            + ", ".join(f"{value:+.2%} ({world})" for world, value in said.items())
            + ". The correction factor takes the noise away, and what was learnt with it.",
            all(value > 0.01 for value in said.values()),
        ),
        Finding(
            "(ours) Some number of rounds makes the private descent better than the user's own mean.",
            ", ".join(
                f"best {best[p.world]:.4f}, user mean {p.levels['user mean']:.4f} ({p.world})" for p in panels
            )
            + ".",
            all(best[p.world] < p.levels["user mean"] for p in panels),
        ),
    ]


def _moves(names: Sequence[str], pairs: Sequence[tuple[float, float]]) -> str:
    moved = (f"{first:.3f} to {last:.3f} ({name})" for name, (first, last) in zip(names, pairs, strict=True))
    return ", ".join(moved) + "."


def _draw(panels: Sequence[Panel]) -> Figure:
    figure, all_axes = plotting.panels(len(panels), width=4.4, height=4.6)
    for axes, panel in zip(all_axes, panels, strict=True):
        for number, (method, points) in enumerate(panel.scores.items()):
            plotting.curve(axes, list(points), list(points.values()), label=method, number=number)
        for number, (name, value) in enumerate(panel.levels.items()):
            plotting.baseline(axes, value, name, number=7 + number, linestyle=("--", ":", "-.")[number])
        if panel.world.startswith("MovieLens"):
            for name, shown in PUBLISHED.items():
                plotting.published(axes, list(shown), list(shown.values()), f"{name}, ML-20M")
        plotting.log_axis(axes, "x")
        axes.set(title=panel.world, xlabel="rounds", ylabel="test RMSE")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


EXPERIMENT = Experiment(
    name="local-figure-9",
    title="Local figure 9: prediction error against the number of rounds",
    source="Privacy Enhanced Matrix Factorization with Local Differential Privacy (2018), figure 9",
    shows="Test RMSE at epsilon 0.1 against the number of rounds, with and without the correction factor and with "
    "mini-batches, beside the user's own mean and a run whose answers are even coins.",
    paper_found="On MovieLens 20M private GD-DR goes from 2.960 (1 round) to 1.372 (50), the non-private descent from "
    "1.269 to 1.145; without the correction factor the error grows.",
    run=run,
)
