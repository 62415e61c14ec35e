"""Figure 7 of the DPALS paper: how fast alternating least squares and Frank-Wolfe converge, with and without noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.data import splits, synthetic
from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.private.frank_wolfe import FrankWolfe
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws, repeat, score, yardstick_holds
from reproduction.tuning import Space, choice, log_uniform, search

MOST = 150
DELTA = 1e-5
QUIET = 1e-2
"""Noise so small that it does not matter: a thousandth of the smallest that is shown, within what a budget may have."""
ALS, FW = "ALS", "FW"
Curves = Mapping[tuple[str, float], Mapping[int, Draws]]
SPACES: Mapping[str, Space] = {
    ALS: {
        "penalty": log_uniform(0.001, 30.0),
        "row_clip": choice((0.1, 0.3, 1.0)),
        "entry_clip": choice((1.5, 2.0, 3.0)),
    },
    FW: {"nuclear_scale": log_uniform(1.0, 40.0), "row_clip": log_uniform(3.0, math.sqrt(MOST))},
}
FIRST: Mapping[str, Mapping[str, Any]] = {
    ALS: {"penalty": 1.0, "row_clip": 0.3, "entry_clip": 2.0},
    FW: {"nuclear_scale": 4.0, "row_clip": math.sqrt(MOST)},
}


def run(context: Context) -> Result:
    users, items = context.pick(quick=(3_000, 200), full=(6_000, 300))
    context.number_of_draws()
    noises = context.pick(quick=(20.0,), full=(10.0, 20.0))
    steps = {
        ALS: context.pick(quick=(1, 2, 4), full=(1, 2, 3, 5, 8)),
        FW: context.pick(quick=(1, 2, 5, 10), full=(1, 3, 10, 40)),
    }
    whole, test = synthetic.low_rank(users, items, rng=context.seed_for("world"))
    train, valid = splits.by_rating(whole, (0.95, 0.05), rng=context.seed_for("split"))
    levels = (QUIET, *noises)
    total, done = len(levels) * sum(map(len, steps.values())), 0
    curves: dict[tuple[str, float], dict[int, Draws]] = {}
    for name, counts in steps.items():
        for sigma in levels:
            curve = curves.setdefault((name, sigma), {})
            for count in counts:
                curve[count] = _best(context, name, sigma, count, train, valid, test)
                done += 1
                context.report("numbers of steps", done, total)
    rows = [
        {
            "method": name,
            "sigma": None if sigma == QUIET else sigma,
            "steps": count,
            "epsilon": None if sigma == QUIET else epsilon_of(sigma, count),
            **error.cells("RMSE"),
        }
        for (name, sigma), curve in curves.items()
        for count, error in curve.items()
    ]
    columns = columns_of("method | sigma [none: no noise] | steps | epsilon .1 | RMSE .4 | spread .4")
    notes = (
        f"Sigma is DPALS's noise with {MOST} sampled ratings a user. A step of either method costs mu^2 = 2 x {MOST} / "
        "sigma^2, so at the same number of steps both have the same epsilon, exactly counted.",
        "Penalty and bounds (ALS), bounds on the nuclear norm and on rows (FW) are chosen at every point on a "
        "validation "
        f"split by {context.number_of_trials()} trials, with noise and without; the search is not charged.",
    )
    data = [
        f"The paper's synthetic world, smaller, so that every trial can be run: rank 5, {users:,} users, {items:,} "
        "items."
    ]
    table = Table("Test error after so many steps", columns, rows, shown=60)
    yardstick = min(value.mean for value in curves[ALS, QUIET].values())
    private = {
        ("", f"DP{name}, sigma {sigma:g}, {count} steps"): value.mean
        for (name, sigma), curve in curves.items()
        if sigma != QUIET
        for count, value in curve.items()
    }
    findings = [*judge(curves), yardstick_holds({"": yardstick}, private)]
    return Result([table], findings, _draw(curves, noises), data=data, notes=notes)


def epsilon_of(sigma: float, steps: int) -> float:
    """Exact epsilon of so many steps."""
    return epsilon_from(_cost(sigma, steps), DELTA)


def judge(all_curves: Curves) -> list[Finding]:
    curves = {key: {n: value.mean for n, value in curve.items()} for key, curve in all_curves.items()}
    als, fw = curves[ALS, QUIET], curves[FW, QUIET]
    private = sorted({sigma for _, sigma in curves if sigma != QUIET})
    plateaus = [(s, min(curves[ALS, s].values()), min(curves[FW, s].values())) for s in private]
    early = [(s, curves[ALS, s][2], curves[FW, s][max(curves[FW, s])]) for s in private]
    return [
        Finding(
            "Without noise, ALS after 2 steps is better than FW after 40.",
            f"ALS after 2 steps {als[2]:.4f}, FW after {max(fw)} {fw[max(fw)]:.4f}.",
            als[2] < fw[max(fw)],
        ),
        Finding(
            "With noise, DPALS after 2 steps is better than DPFW after 40.",
            "; ".join(f"sigma {s:g}: {a:.4f} and {f:.4f}" for s, a, f in early) + ".",
            all(a < f for _, a, f in early),
        ),
        Finding(
            "With noise, the error at which DPALS ends is an order of magnitude lower than DPFW's.",
            "; ".join(f"sigma {s:g}: {a:.4f} and {f:.4f}, a factor of {f / a:.1f}" for s, a, f in plateaus)
            + ".",
            all(f / a >= 5.0 for _, a, f in plateaus),
        ),
    ]


def _best(
    context: Context, name: str, sigma: float, steps: int, train: Ratings, valid: Ratings, test: Ratings
) -> Draws:
    budget = Budget(epsilon_from(_cost(sigma, steps), DELTA), DELTA)

    def error(settings: Mapping[str, Any], draw: int, on: Ratings) -> float:
        method = _make(name, sigma, steps, settings)
        return score(method.fit(train, budget, rng=context.seed_for("start", draw)).model_, train, on)

    found = search(
        lambda **settings: settings,
        SPACES[name],
        context.number_of_trials(),
        lambda settings: error(settings, 0, valid),
        context.rng("trials", name, steps),
        first=[FIRST[name]],
    )
    return repeat(lambda draw: error(found.settings, draw, test), range(context.number_of_draws()))


def _make(name: str, sigma: float, steps: int, settings: Mapping[str, Any]) -> PrivateMethod:
    if name == ALS:
        return DPALS(
            rank=5,
            rounds=steps,
            max_ratings=MOST,
            sampling="uniform",
            item_exponent=0.0,
            user_exponent=0.0,
            centre="middle",
            sigma_matrix=sigma * (1.0 + 1e-9),
            sigma_vector=sigma * (1.0 + 1e-9),
            **settings,
        )
    return FrankWolfe(rounds=steps, max_ratings=MOST, typical_ratings=MOST, skip_noise=False, **settings)


def _cost(sigma: float, steps: int) -> float:
    return math.sqrt(steps * 2.0 * MOST) / sigma


def _draw(curves: Curves, noises: Sequence[float]) -> plotting.Figure:
    figure, panels = plotting.panels(1 + len(noises), width=4.6, height=3.9, sharey=True)
    for axes, sigma in zip(panels, (QUIET, *noises), strict=True):
        for number, name in enumerate((ALS, FW)):
            curve = curves[name, sigma]
            plotting.curve(
                axes,
                list(curve),
                curve.values(),
                label=name if sigma == QUIET else f"DP{name}",
                number=number,
            )
        for steps in () if sigma == QUIET else (1, 5, 20):
            axes.axvline(steps, color="#bbbbbb", linewidth=0.8)
            axes.text(
                steps * 1.05,
                0.97,
                f"ε {epsilon_of(sigma, steps):.3g}",
                fontsize=8,
                color="#666666",
                transform=axes.get_xaxis_transform(),
                va="top",
            )
        plotting.log_axis(axes, "x")
        plotting.log_axis(axes, "y")
        asked = "How fast without noise?" if sigma == QUIET else f"How fast with noise, sigma {sigma:g}?"
        axes.set(title=asked, xlabel="steps")
    for axes in panels:
        plotting.label_lines(axes)
    panels[0].set_ylabel("test RMSE")
    return figure


EXPERIMENT = Experiment(
    name="figure-7",
    title="Figure 7: convergence",
    source="Private Alternating Least Squares (DPALS), appendix, figure 7",
    shows="Test error against the number of steps of ALS and Frank-Wolfe, with and without noise.",
    paper_found="Without noise ALS after 2 steps is better than Frank-Wolfe after 40. With noise both fall for a few "
    "steps and then stay; DPALS's plateau is an order of magnitude lower.",
    run=run,
)
