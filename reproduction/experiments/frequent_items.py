"""Figures 5, 10, 11 and 12 of the DPALS paper: DPALS over the fraction of items that are trained.

Each has curves over that fraction, one for each of something else: way of sampling, epsilon, rank, pair of exponents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.methods.ease.estimator import EASE
from reproduction.central.sweeps import LABEL, UNCLIPPED, Point, Sweep
from reproduction.central.tasks import NO_NOISE
from reproduction.central.yardstick import NOT_PRIVATE
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws

Curves = Mapping[Any, Sequence[Point]]
"""By what tells the curves apart; a point for each fraction."""

SAMPLING_EPSILON, CLICKS_EPSILON, EXPONENTS_EPSILON = 10.0, 5.0, 10.0
SAMPLING: Mapping[str, tuple[float, dict[str, Any]]] = {
    "no noise, all ratings": (NO_NOISE, {"max_ratings": 1_000, "sampling": "uniform", **UNCLIPPED}),
    "no noise, uniform sample": (NO_NOISE, {"sampling": "uniform", **UNCLIPPED}),
    "no noise, adaptive sample": (NO_NOISE, UNCLIPPED),
    "private, uniform sample": (SAMPLING_EPSILON, {"sampling": "uniform"}),
    "private, adaptive sample": (SAMPLING_EPSILON, {}),
    "private, adaptive, no projection": (SAMPLING_EPSILON, {"project": False}),
}
OPTIMUM = (0.05, 0.1)
"""Where the paper found the best fraction of items for clicks."""
PLAIN = (0.0, 0.0)


def sampling(context: Context) -> Result:
    """Figure 5: six curves, with and without noise."""
    sweep = Sweep.of_ratings(context)
    shares = context.pick(quick=(0.2, 1.0), full=(0.05, 0.2, 0.5, 1.0))
    sweep.total = len(shares) * len(SAMPLING)
    curves = {
        name: sweep.over(epsilon, "frequent_share", shares, **settings)
        for name, (epsilon, settings) in SAMPLING.items()
    }
    rows = _rows(shares, curves, lambda name: {"curve": name})
    heading = columns_of("curve | trained items [fraction] .2 | RMSE .4 | spread .4 | settings")
    notes = (
        LABEL,
        f"epsilon {SAMPLING_EPSILON:g}, delta {sweep.task.delta:g}; {sweep.usual['max_ratings']} ratings a user. "
        "Items that are not trained are predicted by the user's own mean.",
    )
    table = Table("Test error for each fraction of trained items", heading, rows, shown=60)
    yardstick = sweep.yardstick()
    private = {name: points for name, points in curves.items() if not name.startswith("no noise")}
    findings = [*judge_sampling(shares, curves), sweep.holds(yardstick, _named(shares, private, str))]
    asked = {
        f"What helps at epsilon {SAMPLING_EPSILON:g}?": "private, ",
        "What does sampling cost alone?": "no noise, ",
    }
    figure, panels = plotting.panels(2, width=6.0, height=4.0)
    for axes, (question, kind) in zip(panels, asked.items(), strict=True):
        chosen = {n.removeprefix(kind): points for n, points in curves.items() if n.startswith(kind)}
        _lines(axes, shares, chosen, str, yardstick)
        axes.set(
            title=f"{question}\n{sweep.task.title}", xlabel="fraction of items trained", ylabel="test RMSE"
        )
        plotting.label_lines(axes)
    return Result([table], findings, figure, notes=notes)


def judge_sampling(shares: Sequence[float], curves: Curves) -> list[Finding]:
    errors = {name: [point.value.mean for point in points] for name, points in curves.items()}
    best = {name: min(values) for name, values in errors.items()}
    at = {name: shares[int(np.argmin(values))] for name, values in errors.items()}
    last = {name: values[-1] for name, values in errors.items()}
    kinds = ("adaptive, no projection", "uniform sample", "adaptive sample")
    whole, uniform, adaptive = (best[f"private, {kind}"] for kind in kinds)
    exact = at["no noise, all ratings"]
    quiet = [best[f"no noise, {kind} sample"] for kind in ("uniform", "adaptive")]
    return [
        Finding(
            "Without projection to the positive semidefinite cone the private model is terrible.",
            f"Best error {whole:.4f} without, {adaptive:.4f} with projection.",
            whole > adaptive * 1.05,
        ),
        Finding(
            "Adaptive sampling improves the private model (0.870 to 0.854).",
            f"Best error {uniform:.4f} with a uniform, {adaptive:.4f} with an adaptive sample; trained on all items "
            f"{last['private, uniform sample']:.4f} and {last['private, adaptive sample']:.4f}.",
            adaptive <= uniform and last["private, adaptive sample"] < last["private, uniform sample"],
        ),
        Finding(
            "Without noise the sampling strategy matters little.",
            f"Best errors {quiet[0]:.4f} (uniform) and {quiet[1]:.4f} (adaptive).",
            abs(quiet[0] - quiet[1]) < abs(uniform - whole),
        ),
        Finding(
            "Part of the loss is due to sampling: without noise, all ratings are better than a sample (0.785, 0.812).",
            f"Best error {best['no noise, all ratings']:.4f} with all ratings, {min(quiet):.4f} with a sample.",
            best["no noise, all ratings"] < min(quiet),
        ),
        Finding(
            "Without noise it is best to train on all items; the private model gains from a subset.",
            f"Best fraction {exact:g} without noise, {at['private, adaptive sample']:g} (adaptive) and "
            f"{at['private, uniform sample']:g} (uniform) with it.",
            exact == max(shares) and at["private, uniform sample"] < max(shares),
        ),
    ]


def epsilons(context: Context) -> Result:
    """Figure 10: a curve for each epsilon."""
    sweep = Sweep.of_ratings(context)
    shares = context.pick(quick=(0.05, 0.3, 1.0), full=(0.02, 0.05, 0.15, 0.4, 1.0))
    budgets = context.pick(quick=(1.0, 20.0), full=(1.0, 5.0, 10.0, 20.0))
    sweep.total = len(shares) * len(budgets)
    curves = {epsilon: sweep.over(epsilon, "frequent_share", shares) for epsilon in budgets}
    parts = list(sweep.data_fractions(shares))
    theirs = dict(zip(shares, parts, strict=True))
    rows = _rows(shares, curves, lambda epsilon: {"epsilon": epsilon})
    rows = [{**row, "their ratings": theirs[row["trained items"]]} for row in rows]
    heading = columns_of(
        "epsilon | trained items [fraction] .2 | their ratings [fraction] .3 | RMSE .4 | spread .4 | settings"
    )
    notes = (
        LABEL,
        f"delta {sweep.task.delta:g}; {sweep.usual['max_ratings']} ratings a user, adaptive sampling. "
        " The fraction of ratings is an exact statistic, drawn for the axis.",
    )
    table = Table("Test error for each fraction of trained items", heading, rows)
    yardstick = sweep.yardstick()
    private = _named(shares, curves, _epsilon)
    findings = [*judge_epsilons(shares, parts, curves), sweep.holds(yardstick, private)]
    asked = {
        "How many items to train on?": (shares, "fraction of items trained"),
        "How many ratings do they have?": (parts, "fraction of ratings of the trained items"),
    }
    figure, panels = plotting.panels(2, width=5.2, height=3.9, sharey=True)
    for axes, (question, (x, label)) in zip(panels, asked.items(), strict=True):
        _lines(axes, x, curves, _epsilon, yardstick, log=x is shares)
        axes.set(title=f"{question}\n{sweep.task.title}", xlabel=label)
    panels[0].set_ylabel("test RMSE")
    plotting.label_lines(panels[1])
    return Result([table], findings, figure, notes=notes)


def judge_epsilons(shares: Sequence[float], parts: Sequence[float], curves: Curves) -> list[Finding]:
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


def clicks(context: Context) -> Result:
    """Figure 11: a curve for each rank, beside EASE."""
    sweep = Sweep.of_clicks(context)
    shares = context.pick(quick=(0.05, 0.2, 1.0), full=(0.02, 0.05, 0.1, 0.2, 0.5, 1.0))
    ranks = context.pick(quick=(2, 8), full=(8, 32))
    sweep.total = len(shares) * len(ranks)
    curves = {rank: sweep.over(CLICKS_EPSILON, "frequent_share", shares, rank=rank) for rank in ranks}
    _, popular = sweep.task.trivial()
    ours, _ = sweep.task.tune_and_repeat("ours", EASE, CLICKS_EPSILON, sweep.draws, trials=0)
    yardstick = sweep.yardstick()
    rows = _rows(shares, curves, lambda rank: {"rank": rank}, "Recall@20")
    heading = columns_of("rank | trained items [fraction] .2 | Recall@20 .4 | spread .4 | settings")
    notes = (
        LABEL,
        f"epsilon {CLICKS_EPSILON:g}, delta {sweep.task.delta:.2g}; {sweep.usual['max_ratings']} clicks a user, "
        f"two ranks. EASE at the same epsilon chooses its head itself and is not tuned: {ours}. "
        f"The best that is {NOT_PRIVATE}: {yardstick}. "
        f"The items most often chosen, counted without noise: {popular:.4f}.",
    )
    table = Table("Recall for each fraction of trained items", heading, rows)
    private: dict[str, Point | Draws] = {"EASE": ours, **_named(shares, curves, "rank {}".format)}
    findings = [*judge_clicks(shares, curves, popular, ours), sweep.holds(yardstick, private)]
    figure, (axes,) = plotting.panels(width=8.0, height=4.2)
    _lines(axes, shares, curves, "DPALS, rank {}".format)
    plotting.baseline(axes, ours.mean, "EASE (ours), not tuned", number=2, spread=ours.spread)
    plotting.baseline(axes, yardstick.mean, NOT_PRIVATE, linestyle="-.")
    plotting.baseline(axes, popular, "popularity, no noise", linestyle=":")
    axes.axvspan(*OPTIMUM, color=plotting.PUBLISHED, alpha=0.07)
    axes.set(
        title=f"How many items to train on at epsilon {CLICKS_EPSILON:g}?\n{sweep.task.title}",
        xlabel="fraction of items trained (grey: where the best is published to be, on MovieLens 20M)",
        ylabel="test Recall@20",
    )
    plotting.label_lines(axes)
    return Result([table], findings, figure, notes=notes)


def judge_clicks(shares: Sequence[float], curves: Curves, popular: float, ours: Draws) -> list[Finding]:
    best = {rank: int(np.argmax([point.value.mean for point in points])) for rank, points in curves.items()}
    top = {rank: curves[rank][place].value.mean for rank, place in best.items()}
    shown = ", ".join(f"{shares[place]:g} at rank {rank} ({top[rank]:.4f})" for rank, place in best.items())
    loss = {rank: top[rank] - points[-1].value.mean for rank, points in curves.items()}
    low, high = OPTIMUM
    inside = {
        rank: max(p.value.mean for share, p in zip(shares, points, strict=True) if low <= share <= high)
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
    return value == best.mean or best.mean - value < best.spread


def exponents(context: Context) -> Result:
    """Figure 12: a curve for each pair (nu, mu)."""
    sweep = Sweep.of_ratings(context)
    shares = context.pick(quick=(0.1, 1.0), full=(0.05, 0.15, 0.4, 1.0))
    every = (PLAIN, (0.0, 1.0), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0))
    pairs = context.pick(quick=(PLAIN, (1.0, 0.5)), full=every)
    sweep.total = len(shares) * len(pairs)
    curves = {
        (nu, mu): sweep.over(EXPONENTS_EPSILON, "frequent_share", shares, user_exponent=nu, item_exponent=mu)
        for nu, mu in pairs
    }
    rows = _rows(shares, curves, lambda pair: {"user exponent": pair[0], "item exponent": pair[1]})
    heading = columns_of(
        "user exponent [nu] .1 | item exponent [mu] .1 | trained items [fraction] .2 | RMSE .4 | spread .4 | settings"
    )
    notes = (
        LABEL,
        f"epsilon {EXPONENTS_EPSILON:g}, delta {sweep.task.delta:g}; {sweep.usual['max_ratings']} ratings a user.",
    )
    table = Table("Test error for each pair of exponents", heading, rows, shown=60)
    yardstick = sweep.yardstick()
    private = _named(shares, curves, lambda pair: f"(nu, mu) = ({pair[0]:g}, {pair[1]:g})")
    findings = [*judge_exponents(curves), sweep.holds(yardstick, private)]
    figure, (axes,) = plotting.panels(width=7.0, height=4.4)
    _lines(axes, shares, curves, lambda pair: f"nu {pair[0]:g}, mu {pair[1]:g}", yardstick)
    axes.set(
        title=f"Do penalties that grow with counts help at epsilon {EXPONENTS_EPSILON:g}?\n{sweep.task.title}",
        xlabel="fraction of items trained",
        ylabel="test RMSE",
    )
    plotting.label_lines(axes)
    return Result([table], findings, figure, notes=notes)


def judge_exponents(curves: Curves) -> list[Finding]:
    best = {pair: min(point.value.mean for point in points) for pair, points in curves.items()}
    top = min(best, key=lambda pair: best[pair])
    rise = {pair: points[-1].value.mean - best[pair] for pair, points in curves.items()}
    return [
        Finding(
            "Tuning the exponents of the penalty has a significant effect.",
            f"Best error {best[top]:.4f} with (nu, mu) = {top}, {best[PLAIN]:.4f} with {PLAIN} and "
            f"{max(best.values()):.4f} with the worst pair.",
            max(best.values()) - best[top] > 0.005 and top != PLAIN,
        ),
        Finding(
            "With the best exponents the model can be trained on far more items with only a slight loss.",
            f"From the best fraction to all items the error rises by {rise[top]:.4f} with {top} and by "
            f"{rise[PLAIN]:.4f} with {PLAIN}.",
            rise[top] < rise[PLAIN],
        ),
    ]


def _epsilon(epsilon: float) -> str:
    return f"epsilon {epsilon:g}"


def _rows(
    shares: Sequence[float], curves: Curves, keys: Callable[[Any], dict[str, Any]], metric: str = "RMSE"
) -> list[dict[str, Any]]:
    return [
        {
            **keys(key),
            "trained items": share,
            metric: point.value.mean,
            "spread": point.value.spread,
            "settings": point.settings,
        }
        for key, points in curves.items()
        for share, point in zip(shares, points, strict=True)
    ]


def _named(shares: Sequence[float], curves: Curves, words: Callable[[Any], str]) -> dict[str, Point]:
    return {
        f"{words(key)}, {share:g} of the items": point
        for key, points in curves.items()
        for share, point in zip(shares, points, strict=True)
    }


def _lines(
    axes: plotting.Axes,
    x: Sequence[float],
    curves: Curves,
    words: Callable[[Any], str],
    yardstick: Draws | None = None,
    *,
    log: bool = True,
) -> None:
    for number, (key, points) in enumerate(curves.items()):
        plotting.curve(axes, x, [point.value for point in points], label=words(key), number=number)
    if yardstick is not None:
        plotting.baseline(axes, yardstick.mean, NOT_PRIVATE)
    if log:
        plotting.log_axis(axes, "x")


FIGURE_5 = Experiment(
    name="figure-5",
    title="Figure 5: sampling and projection",
    source="Private Alternating Least Squares (DPALS), figure 5",
    shows="Test error against the fraction of items trained: uniform and adaptive sampling, with and without "
    "noise, and without projection to the positive semidefinite cone.",
    paper_found="On MovieLens 10M at epsilon 10 and rank 128: adaptive sampling takes the private error from 0.870 "
    "to 0.854 and hardly matters without noise; sampling alone costs 0.785 to 0.812; without projection the "
    "private model is terrible.",
    run=sampling,
)
FIGURE_10 = Experiment(
    name="figure-10",
    title="Figure 10: training on frequent items",
    source="Private Alternating Least Squares (DPALS), appendix, figure 10",
    shows="Test error against the fraction of items that are trained, for several epsilons; the rest is predicted "
    "by the user's own mean.",
    paper_found="On MovieLens 10M the best fraction falls with epsilon; at epsilon 1 it is 5 % of the films, which "
    "still have more than half of the ratings.",
    run=epsilons,
)
FIGURE_11 = Experiment(
    name="figure-11",
    title="Figure 11: training on frequent items, clicks",
    source="Private Alternating Least Squares (DPALS), appendix, figure 11",
    shows="Recall@20 against the fraction of items that are trained, at epsilon 5 for two ranks.",
    paper_found="On MovieLens 20M the best fraction is between 5 % and 10 % of the films, depending on the rank.",
    run=clicks,
)
FIGURE_12 = Experiment(
    name="figure-12",
    title="Figure 12: regularisation exponents",
    source="Private Alternating Least Squares (DPALS), appendix, figure 12",
    shows="Test error against the fraction of items trained, for penalties that grow with users' and items' counts "
    "to different powers.",
    paper_found="On MovieLens 10M at epsilon 10 and rank 128 the exponents matter much, and with the best ones the "
    "model can be trained on many more films with only a slight loss.",
    run=exponents,
)
