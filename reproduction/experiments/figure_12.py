"""Figure 12 of the DPALS paper: penalties that grow with counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproduction.central.sweeps import LABEL, Point, Sweep
from reproduction.central.yardstick import NOT_PRIVATE, Yardstick
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of

EPSILON = 10.0
PLAIN = (0.0, 0.0)
Curves = Mapping[tuple[float, float], Sequence[Point]]


def run(context: Context) -> Result:
    """One curve over the fraction of trained items for each pair (nu, mu)."""
    sweep = Sweep.of_ratings(context)
    shares = context.pick(quick=(0.1, 1.0), full=(0.05, 0.15, 0.4, 1.0))
    pairs = context.pick(
        quick=(PLAIN, (1.0, 0.5)), full=(PLAIN, (0.0, 1.0), (0.5, 0.5), (1.0, 0.5), (1.0, 1.0))
    )
    sweep.total = len(shares) * len(pairs)
    curves = {
        (nu, mu): sweep.over(EPSILON, "frequent_share", shares, user_exponent=nu, item_exponent=mu)
        for nu, mu in pairs
    }
    rows = [
        {
            "user exponent": nu,
            "item exponent": mu,
            "trained items": share,
            "RMSE": point.value.mean,
            "spread": point.value.spread,
            "settings": point.settings,
        }
        for (nu, mu), points in curves.items()
        for share, point in zip(shares, points, strict=True)
    ]
    columns = columns_of(
        "user exponent [nu] .1 | item exponent [mu] .1 | trained items [fraction] .2 | RMSE .4 | "
        "spread .4 | settings"
    )
    notes = (
        LABEL,
        f"epsilon {EPSILON:g}, delta {sweep.task.delta:g}; {sweep.usual['max_ratings']} ratings a user.",
    )
    table = Table("Test error for each pair of exponents", columns, rows, shown=60)
    yardstick = sweep.yardstick()
    private = {
        f"(nu, mu) = ({nu:g}, {mu:g}), {share:g} of the items": point
        for (nu, mu), points in curves.items()
        for share, point in zip(shares, points, strict=True)
    }
    findings = [*judge(curves), sweep.holds(yardstick, private)]
    figure = _draw(shares, curves, yardstick, sweep.task.title)
    return Result([table], findings, figure, notes=notes)


def judge(curves: Curves) -> list[Finding]:
    """Hold the exponents against the paper's observations."""
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


def _draw(shares: Sequence[float], curves: Curves, yardstick: Yardstick, title: str) -> plotting.Figure:
    figure, (axes,) = plotting.panels(width=7.0, height=4.4)
    for number, ((nu, mu), points) in enumerate(curves.items()):
        plotting.curve(
            axes, shares, [point.value for point in points], label=f"nu {nu:g}, mu {mu:g}", number=number
        )
    plotting.baseline(axes, yardstick.value.mean, NOT_PRIVATE)
    plotting.log_axis(axes, "x")
    axes.set(
        title=f"Do penalties that grow with counts help at epsilon {EPSILON:g}?\n{title}",
        xlabel="fraction of items trained",
        ylabel="test RMSE",
    )
    plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="figure-12",
    title="Figure 12: regularisation exponents",
    source="Private Alternating Least Squares (DPALS), appendix, figure 12",
    shows="Test error against the fraction of items trained, for penalties that grow with users' and items' counts to "
    "different powers.",
    paper_found="On MovieLens 10M at epsilon 10 and rank 128 the exponents matter much, and with the best ones the "
    "model can be trained on many more films with only a slight loss.",
    run=run,
)
