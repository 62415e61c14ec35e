"""Figure 2 of the DPALS paper: how much of the data the most popular items have, before and after sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.central import skew
from reproduction.context import Context
from reproduction.datasets.lookup import Dataset
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws

FRACTIONS = tuple(round(float(fraction), 2) for fraction in np.arange(0.02, 1.001, 0.02))
HEAD = 0.2
PUBLISHED_SHARE = 0.85
LABELS = {
    "original": "original data",
    "uniform": f"uniform, {skew.MOST} a user",
    "adaptive": f"adaptive (rarest {skew.MOST} a user)",
}


def run(context: Context) -> Result:
    chosen = [context.dataset("ml-10m", quick_users=2_000)]
    if chosen[0].name != "market":
        chosen.append(context.market(quick_users=2_000))
    figure, axes = plotting.panels(len(chosen))
    rows: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for number, (dataset, panel) in enumerate(zip(chosen, axes, strict=True)):
        context.report("sampling", number, len(chosen))
        curves = shares(dataset, context.seed_for("sample", dataset.name), context.number_of_draws())
        _draw(panel, dataset, curves)
        rows += [
            {
                "data": dataset.title,
                "ratings kept": LABELS[kind],
                "top items": fraction,
                **share.cells("ratings"),
            }
            for kind, values in curves.items()
            for fraction, share in zip(FRACTIONS, values, strict=True)
        ]
        findings += judge(dataset, {kind: _at(values, HEAD).mean for kind, values in curves.items()})
    columns = columns_of(
        "data | ratings kept | top items [fraction of rated items] .2 | ratings [fraction] .4 | spread .5"
    )
    heads = [row for row in rows if row["top items"] in (0.02, 0.1, HEAD, 0.5)]
    tables = [
        Table("Share of the ratings that the top items have", columns, heads),
        Table("The whole curves", columns, rows, key="curves", shown=0),
    ]
    notes = (
        f"The adaptive sample keeps each user's {skew.MOST} items with the lowest noisy counts (sigma_p = "
        f"{skew.SIGMA:g}, as table 4 has it at epsilon 10), taken through the gate from the uniform sample; those "
        f"counts alone cost epsilon {skew.count_epsilon():.2f} at delta {skew.DELTA:g}. All items take part "
        "(beta = 1).",
        "Mean over samples, each with noise of its own; the band is their standard deviation, hardly wider than a "
        "line. "
        "Items are ordered anew for each curve. The curves themselves are exact statistics of the data, drawn to "
        "illustrate, not a private release.",
    )
    return Result(tables, findings, figure, notes=notes)


def shares(dataset: Dataset, seed: int, draws: int) -> dict[str, list[Draws]]:
    """For each way of sampling the share of the ratings that each fraction of the top items has."""
    ratings = dataset.ratings
    rated = skew.item_counts(ratings) > 0
    found: dict[str, list[list[float]]] = {}
    for draw in range(draws):
        for kind, mask in skew.samples(ratings, seed + draw).items():
            counts = skew.item_counts(ratings, mask)[rated]
            found.setdefault(kind, []).append([skew.top_share(counts, fraction) for fraction in FRACTIONS])
    return {kind: [Draws(values) for values in zip(*curves, strict=True)] for kind, curves in found.items()}


def judge(dataset: Dataset, head: dict[str, float]) -> list[Finding]:
    where = f"On {dataset.title}, the top {HEAD:.0%} have"
    shown = {kind: f"{share:.1%}" for kind, share in head.items()}
    findings = [
        Finding(
            "Uniform sampling makes the popularity bias worse.",
            f"{where} {shown['uniform']} of the uniform sample, {shown['original']} of the original data.",
            head["uniform"] > head["original"],
        ),
        Finding(
            "Adaptive sampling reduces the popularity bias.",
            f"{where} {shown['adaptive']} of the adaptive sample, {shown['original']} of the original data.",
            head["adaptive"] < head["original"],
        ),
    ]
    if dataset.wanted != "ml-10m":
        return findings
    claim = f"The top {HEAD:.0%} of the movies have more than {PUBLISHED_SHARE:.0%} of the ratings (MovieLens 10M)."
    agrees = head["original"] > PUBLISHED_SHARE if dataset.as_published else None
    return [Finding(claim, f"{where} {shown['original']}.", agrees), *findings]


def _at(values: list[Draws], fraction: float) -> Draws:
    return values[FRACTIONS.index(fraction)]


def _draw(axes: plotting.Axes, dataset: Dataset, curves: dict[str, list[Draws]]) -> None:
    ends = (0.0, *FRACTIONS)
    axes.plot(ends, ends, color="#999999", linestyle=":", linewidth=1.2, label="no skew")
    for number, (kind, values) in enumerate(curves.items()):
        colour, means = plotting.COLOURS[number], [0.0, *(value.mean for value in values)]
        spreads = [0.0, *(value.spread for value in values)]
        axes.plot(ends, means, color=colour, label=LABELS[kind])
        low, high = ([m + sign * s for m, s in zip(means, spreads, strict=True)] for sign in (-1, 1))
        axes.fill_between(ends, low, high, color=colour, alpha=0.25, linewidth=0)
    label = f"published for MovieLens 10M:\nover {PUBLISHED_SHARE:g} at {HEAD:g}"
    if dataset.as_published:
        plotting.published(axes, [HEAD], [PUBLISHED_SHARE], label)
    else:
        axes.axhline(PUBLISHED_SHARE, color=plotting.PUBLISHED, linewidth=0.9, linestyle=(0, (1, 3)))
        axes.text(0.98, PUBLISHED_SHARE - 0.015, f"{label}\n(other data)", fontsize=7.5, ha="right", va="top")
    axes.set(
        title=f"Does sampling add to the skew?\n{dataset.title}, {dataset.ratings.n_users:,} users",
        xlabel="fraction of top items",
        ylabel="fraction of ratings",
        xlim=(0, 1),
        ylim=(0, 1.02),
    )
    axes.legend(loc="lower right")


EXPERIMENT = Experiment(
    name="figure-2",
    title="Figure 2: popularity skew and sampling",
    source="Private Alternating Least Squares (DPALS), figure 2",
    shows="How much of the data the most popular items have, originally and after keeping 50 ratings of each user.",
    paper_found="The top 20 % of the movies of MovieLens 10M have more than 85 % of the ratings. Keeping 50 random "
    "ratings of each user makes the skew worse; keeping the 50 rarest makes it smaller.",
    run=run,
)
