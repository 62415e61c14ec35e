"""Figures 7 and 8 of the local paper: the ten best items, private against non-private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.evaluation import metrics
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.channel import GUARANTEE, Hua
from reproduction.local.rotated import ROTATED, UNTUNED, f_scores, rotated_top
from reproduction.local.world import EPSILONS, TUNING, World, each_world, free_levels
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws

TOP = 10
DR, HUA, STILL, POPULAR = "private GD-DR", "Hua et al. (one rating)", "V as it began", "popularity, no noise"
EXACT = "non-private GD"
Pair = tuple[Draws, Draws]
"""F-score against the non-private list, and recall of held-out ratings of four stars and more."""


@dataclass(frozen=True)
class Panel:
    """One world's scores."""

    world: str
    levels: Mapping[str, Pair]
    scores: Mapping[str, Mapping[float, Pair]]
    chance: float
    user_mean: float
    global_mean: float
    heading: str = ""


def run(context: Context) -> Result:
    epsilons = context.pick(quick=(0.1, 1.6), full=EPSILONS)
    people = context.pick(quick=200, full=2_000)
    panels = each_world(context, lambda world: measure(world, epsilons, people, context.number_of_draws()))
    columns = columns_of(
        "data | method | epsilon | F-score .4 | its spread .4 | Recall@10 of liked items .4 | "
        "spread of recall .4"
    )
    rows = [row for panel in panels for row in tabulate(panel)]
    notes = (
        TUNING,
        f"{context.number_of_trials()} rates for each of '{DR}' and '{HUA}' at each epsilon, by RMSE.",
        UNTUNED,
        f"{people:,} users, drawn at random; items they rated in training are left out of every list. By chance two "
        "lists of ten have an F-score of "
        + ", ".join(f"{panel.chance:.4f} ({panel.world})" for panel in panels)
        + ".",
        "Every descent of a world starts from the same V, so a list may be alike because neither moved far.",
        "A user's own mean ranks nothing. RMSE of the free baselines: "
        + free_levels((panel.world, panel.user_mean, panel.global_mean) for panel in panels)
        + ".",
        f"Hua et al. promise less at the same epsilon: {GUARANTEE}.",
    )
    table = Table("Ten best items against those of the non-private descent", columns, rows, shown=80)
    figure = _draw(panels, 0, "Are private lists like the non-private ones?")
    more = {"liked": _draw(panels, 1, "Are liked items on the lists?")}
    return Result([table], judge(panels), figure, notes=notes, more=more)


def measure(world: World, epsilons: Sequence[float], people: int, draws: int) -> Panel:
    rng = np.random.default_rng(world.seed)
    users = np.sort(rng.choice(world.train.n_users, min(people, world.train.n_users), replace=False))
    assert world.test.rating_range is not None
    low, high = world.test.rating_range
    liked = world.test.keep(world.test.values >= low + 0.75 * (high - low)).take_users(users)
    histories = world.train.take_users(users)
    reference = world.top(world.exact(), users, TOP)

    def score(*rankings: Any) -> Pair:
        recall = [metrics.recall_at_k(ranking, liked.indptr, liked.items, TOP) for ranking in rankings]
        alike = [float(np.nanmean(f_scores(ranking, reference))) for ranking in rankings]
        return Draws(tuple(alike)), Draws(tuple(recall))

    popular = metrics.popularity_ranking(world.train, histories, world.train.n_items, TOP)
    levels = {
        EXACT: score(reference),
        STILL: score(world.top(world.untouched, users, TOP)),
        POPULAR: score(popular),
    }
    scores: dict[str, dict[float, Pair]] = {DR: {}, HUA: {}, ROTATED: {}}
    for epsilon in epsilons:
        for name, channel, correction in ((DR, world.projected, 2.0), (HUA, Hua(), 0.0)):
            rate = world.tuned_rate(channel, epsilon, correction=correction)
            runs = (world.run(channel, epsilon, rate=rate, correction=correction) for _ in range(draws))
            scores[name][epsilon] = score(*(world.top(run, users, TOP) for run in runs))
        scores[ROTATED][epsilon] = score(*(rotated_top(world, epsilon, users, TOP) for _ in range(draws)))
    chance = TOP / max(TOP, world.train.n_items - float(np.mean(np.diff(histories.indptr))))
    return Panel(world.name, levels, scores, chance, world.user_mean, world.global_mean, world.heading)


def tabulate(panel: Panel) -> list[dict[str, Any]]:
    pairs: list[tuple[str, float | None, Pair]] = [
        (method, None, pair) for method, pair in panel.levels.items()
    ]
    pairs += [(m, e, pair) for m, points in panel.scores.items() for e, pair in points.items()]
    return [
        {
            "data": panel.world,
            "method": method,
            "epsilon": epsilon,
            **pair[0].cells("F-score", "its spread"),
            **pair[1].cells("Recall@10 of liked items", "spread of recall"),
        }
        for method, epsilon, pair in pairs
    ]


def judge(panels: Sequence[Panel]) -> list[Finding]:
    grown = {
        (p.world, method): p.scores[method][max(p.scores[method])][0].mean
        - p.scores[method][min(p.scores[method])][0].mean
        for p in panels
        for method in (DR, HUA)
    }
    ahead = [
        p.scores[HUA][max(p.scores[HUA])][0].mean > p.scores[DR][max(p.scores[DR])][0].mean for p in panels
    ]
    still = {
        p.world: max(pair[0].mean for pair in p.scores[DR].values()) - p.levels[STILL][0].mean for p in panels
    }
    ours = [p.scores[ROTATED][e][1].mean >= p.scores[DR][e][1].mean for p in panels for e in p.scores[DR]]
    useful = {
        p.world: (max(v[1].mean for v in p.scores[DR].values()), p.levels[POPULAR][1].mean) for p in panels
    }
    return [
        Finding(
            "The ten best items are more like the non-private ones at a larger epsilon.",
            ", ".join(f"{value:+.3f} ({world}, {method})" for (world, method), value in grown.items()) + ".",
            all(value > 0.01 for value in grown.values()),
        ),
        Finding(
            "Hua et al. are ahead at the largest epsilon, with their weaker promise.",
            f"In {sum(ahead)} of {len(ahead)} worlds.",
            all(ahead),
        ),
        Finding(
            "(ours) Private lists are more like the non-private ones than lists from V as it began.",
            ", ".join(f"{value:+.3f} ({world})" for world, value in still.items()) + ".",
            all(value > 0.005 for value in still.values()),
        ),
        Finding(
            "(ours) Private lists hold as many liked items as the most popular items do.",
            ", ".join(f"recall {a:.4f} against {b:.4f} ({world})" for world, (a, b) in useful.items()) + ".",
            all(a >= b for a, b in useful.values()),
        ),
        Finding(
            "(ours) The rotated mechanism's lists hold at least as many liked items as private GD-DR's.",
            f"In {sum(ours)} of {len(ours)} cases.",
            all(ours),
        ),
    ]


def _draw(panels: Sequence[Panel], which: int, question: str) -> plotting.Figure:
    figure, all_axes = plotting.panels(len(panels), width=5.2, height=3.8)
    for axes, panel in zip(all_axes, panels, strict=True):
        for number, (method, points) in enumerate(panel.scores.items()):
            values = [pair[which] for pair in points.values()]
            plotting.curve(axes, list(points), values, label=method, number=number)
        for number, (name, pair) in enumerate(panel.levels.items()):
            if which or name != EXACT:
                plotting.baseline(axes, pair[which].mean, name, number=5 + number, linestyle=":")
        plotting.epsilon_axis(axes, list(panel.scores[DR]))
        axes.set(
            title=f"{question}\n{panel.heading}",
            ylabel=("F-score against non-private", "Recall@10 of liked items")[which],
        )
        plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="local-figure-7",
    title="Local figure 7: the ten best items, private against non-private",
    source="Privacy Enhanced Matrix Factorization with Local Differential Privacy (2018), figures 7 and 8",
    shows="F-score of the ten items a private model recommends against those of the non-private one, and how many "
    "liked held-out items are among them.",
    paper_found="On MovieLens F-scores grow with epsilon, for Hua et al. more; on LibimSeTi those of private GD-DR "
    "hardly change. Numbers are not printed.",
    run=run,
)
