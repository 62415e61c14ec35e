"""Figure 9 of the local paper: prediction error against the number of rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.descent import Outcome
from reproduction.local.rotated import ROTATED, UNTUNED, rotated_error
from reproduction.local.world import ROUNDS, TUNING, EvenCoins, World, each_world, score_rows
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws, yardstick_holds

EPSILON = 0.1
EXACT, DR = "non-private GD", "private GD-DR"
PLAIN, LINEAR = "private GD-DR, no correction", "private GD-DR, correction 1 / k"
BATCHES = "private GD-DR, a batch a round"
COINS = "private GD-DR, even coins"
PUBLISHED: Mapping[str, Mapping[float, float]] = {
    EXACT: {1: 1.269, 3: 1.204, 5: 1.187, 10: 1.173, 20: 1.161, 50: 1.145},
    DR: {1: 2.960, 3: 1.697, 5: 1.500, 10: 1.409, 20: 1.381, 50: 1.372},
}


@dataclass(frozen=True)
class Panel:
    """RMSE in one world: one number a number of rounds for each method, and the levels."""

    world: str
    scores: Mapping[str, Mapping[float, Draws]]
    levels: Mapping[str, float]
    as_published: bool
    heading: str = ""


def run(context: Context) -> Result:
    rounds = context.pick(quick=(1, 3, 10), full=(1, 3, 10, 20, 50))
    panels = each_world(context, lambda world: measure(world, rounds, context.number_of_draws()))
    columns = columns_of("data | method | rounds | RMSE .4 | spread .4")
    rows = [row for panel in panels for row in score_rows(panel.world, panel.levels, panel.scores, "rounds")]
    notes = (
        TUNING,
        UNTUNED,
        f"epsilon {EPSILON:g} for all rounds together, exactly k rounds (the paper's loop runs k + 1). The rate of "
        f"each method is the best of {context.number_of_trials()} at 10 rounds, the same for every number of "
        "rounds; even "
        f"coins have that of '{DR}'.",
        "'Even coins': every answer is an even coin that has nothing to do with any rating.",
        "'A batch a round': devices are dealt into k groups, each device answers once with all of its epsilon, no "
        "correction factor. Only a k-th of the devices speaks in a round, but each 1 / k of the noise.",
    )
    table = Table(f"Test RMSE at epsilon {EPSILON:g}", columns, rows, shown=120)
    published = Table(
        "Published, on MovieLens 20M, which is not at hand",
        columns_of("method | rounds | RMSE .3"),
        [{"method": m, "rounds": k, "RMSE": v} for m, points in PUBLISHED.items() for k, v in points.items()],
        key="published",
    )
    more = {"correction": _draw_correction(panels)}
    return Result([table, published], judge(panels), _draw(panels), notes=notes, more=more)


def measure(world: World, rounds: Sequence[int], draws: int) -> Panel:
    channel = world.projected
    scores: dict[str, dict[float, Draws]] = {name: {} for name in (EXACT, DR, LINEAR, PLAIN, BATCHES, COINS)}
    rates = {
        DR: world.tuned_rate(channel, EPSILON),
        LINEAR: world.tuned_rate(channel, EPSILON, correction=1.0),
        PLAIN: world.tuned_rate(channel, EPSILON, correction=0.0),
        BATCHES: world.tuned_rate(channel, EPSILON, correction=0.0, batches=ROUNDS),
    }
    ways: dict[str, Callable[[int], Outcome]] = {
        DR: lambda k: world.run(channel, EPSILON, rate=rates[DR], rounds=k),
        LINEAR: lambda k: world.run(channel, EPSILON, rate=rates[LINEAR], rounds=k, correction=1.0),
        PLAIN: lambda k: world.run(channel, EPSILON, rate=rates[PLAIN], rounds=k, correction=0.0),
        BATCHES: lambda k: world.run(
            channel, EPSILON, rate=rates[BATCHES], rounds=k, correction=0.0, batches=k
        ),
        COINS: lambda k: world.run(EvenCoins(channel), EPSILON, rate=rates[DR], rounds=k),
    }
    for k in rounds:
        scores[EXACT][k] = Draws((world.error(world.exact(k), world.test),))
        for name, way in ways.items():
            scores[name][k] = Draws(tuple(world.error(way(k), world.test) for _ in range(draws)))
    levels = {
        "user mean": world.user_mean,
        "global mean": world.global_mean,
        ROTATED: Draws(tuple(rotated_error(world, EPSILON) for _ in range(draws))).mean,
    }
    return Panel(world.name, scores, levels, world.as_published, world.heading)


def judge(panels: Sequence[Panel]) -> list[Finding]:
    means = {
        p.world: {name: {k: v.mean for k, v in points.items()} for name, points in p.scores.items()}
        for p in panels
    }
    ends = {
        name: [
            (points[min(points)], points[max(points)]) for p in panels for points in [means[p.world][name]]
        ]
        for name in (DR, PLAIN, EXACT)
    }
    said = {
        p.world: statistics.fmean(1 - here[DR][k] / here[COINS][k] for k in here[DR])
        for p in panels
        for here in [means[p.world]]
    }
    best = {
        p.world: min(v for m in (DR, LINEAR, PLAIN, BATCHES) for v in means[p.world][m].values())
        for p in panels
    }
    off = [
        abs(means[p.world][name][k] / PUBLISHED[name][k] - 1)
        for p in panels
        if p.as_published
        for name in PUBLISHED
        for k in p.scores[name]
        if k in PUBLISHED[name]
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
        yardstick_holds(
            {p.world: min(means[p.world][EXACT].values()) for p in panels},
            {
                (p.world, f"{name}, {k} rounds"): value
                for p in panels
                for name, points in means[p.world].items()
                if name != EXACT
                for k, value in points.items()
            },
        ),
    ]


def _moves(names: Sequence[str], pairs: Sequence[tuple[float, float]]) -> str:
    moved = (f"{first:.3f} to {last:.3f} ({name})" for name, (first, last) in zip(names, pairs, strict=True))
    return ", ".join(moved) + "."


def _draw(panels: Sequence[Panel]) -> plotting.Figure:
    figure, all_axes = plotting.panels(len(panels) + 1, width=5.0, height=3.9)
    for axes, panel in zip(all_axes, panels, strict=False):
        _lines(axes, panel, (EXACT, DR, COINS))
        for (name, value), style in zip(panel.levels.items(), ("--", ":", "-."), strict=True):
            plotting.baseline(axes, value, name, linestyle=style)
        axes.set(title=f"Is it the answers that help over rounds?\n{panel.heading}", ylabel="test RMSE")
        plotting.label_lines(axes)
    other = all_axes[-1]
    for name, points in PUBLISHED.items():
        plotting.published_elsewhere(
            other, list(points), list(points.values()), source="MovieLens 20M, epsilon 0.1", xlabel="rounds"
        )
        other.annotate(
            name, (50, points[50]), textcoords="offset points", xytext=(-4, 7), ha="right", fontsize=8.5
        )
    plotting.log_axis(other, "x")
    other.set_ylabel("test RMSE")
    return figure


def _draw_correction(panels: Sequence[Panel]) -> plotting.Figure:
    figure, all_axes = plotting.panels(len(panels), width=5.4, height=3.8)
    for axes, panel in zip(all_axes, panels, strict=True):
        _lines(axes, panel, (DR, LINEAR, PLAIN, BATCHES))
        plotting.baseline(axes, panel.levels["user mean"], "user mean")
        axes.set(title=f"Which correction bears many rounds?\n{panel.heading}", ylabel="test RMSE")
        plotting.label_lines(axes)
    return figure


def _lines(axes: plotting.Axes, panel: Panel, names: Sequence[str]) -> None:
    plotting.curves(axes, panel.scores, names)
    plotting.log_axis(axes, "x")
    axes.set_xlabel("rounds")


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
