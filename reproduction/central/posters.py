"""What the two plots of the Frank-Wolfe poster share: all private methods on one task, and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.methods.published.private.baselines import GlobalMean, ItemMean, UserMean
from discreet.methods.published.private.svd import PrivateSVD
from discreet.privacy.budget import Budget
from reproduction.central import rivals
from reproduction.central.contest import OURS, Contest, Entries, Entry, Rival, ahead, checks
from reproduction.central.yardstick import NOT_PRIVATE, Yardstick
from reproduction.output import plotting
from reproduction.result import Finding, Table, columns_of
from reproduction.scoring import score
from reproduction.tuning import Choice, Values

__all__ = [
    "DELTA",
    "EPSILONS",
    "contestants",
    "draw",
    "draw_families",
    "enter_all",
    "free_levels",
    "free_table",
    "judge_order",
]

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0)
DPALS, WEIGHTED, DPFW, CLIPPED, DPSVD, DENOISED, MEANS, DPPGD = (
    "DPALS",
    "DPALS, item weights",
    "DPFW, as published",
    "DPFW, rows clipped (ours)",
    "DP-SVD, as published",
    "DP-SVD, denoised (ours)",
    "DP-SVD without factors",
    "DP projected gradient, denoised (ours)",
)
AS_PUBLISHED = (DPALS, DPFW, DPSVD, DPPGD)
FAMILIES = {"DPALS": (DPALS, WEIGHTED), "Frank-Wolfe": (DPFW, CLIPPED), "DP-SVD": (DPSVD, DENOISED, MEANS)}
"""A published method and its changed kinds."""
USER_MEAN = "user mean (free)"


def contestants(most: Values, half: float) -> dict[str, Rival]:
    """Every published method; ``half`` is half of the rating range, the unit of all bounds."""
    entry = Choice((0.4 * half, 0.7 * half, half))
    bound = Choice((0.5 * half, 1.0 * half, 2.0 * half, 4.0 * half))
    plain = {"sampling": "uniform", "item_exponent": 0.0}
    ranks = Choice((1, 2, 4, 8))
    return {
        DPALS: rivals.dpals(ranks, most, entry, **plain),
        WEIGHTED: rivals.weighted_dpals(ranks, most, entry, item_exponent=0.0),
        DPFW: rivals.frank_wolfe(most, entry, centre="mean"),
        CLIPPED: rivals.frank_wolfe_clipped(most, bound, centre="mean"),
        DPSVD: rivals.svd(most, bound, denoise=False),
        DENOISED: rivals.svd(most, bound),
        MEANS: Rival(
            PrivateSVD,
            {"max_ratings": most, "offset_penalty": Choice((0.3, 1.0, 3.0, 10.0))},
            {"rank": 0, "mean_share": 0.99},
        ),
        DPPGD: rivals.projected_gradient(most, bound, centre="mean"),
    }


def enter_all(
    contest: Contest, most: Values, epsilons: Sequence[float]
) -> list[tuple[dict[str, Any], Entry]]:
    """Every method at every epsilon, ours last."""
    assert contest.train.rating_range is not None
    low, high = contest.train.rating_range
    methods = contestants(most, 0.5 * (high - low))
    entries: list[tuple[dict[str, Any], Entry]] = []
    total = len(epsilons) * (len(methods) + 1)
    for epsilon in epsilons:
        for name, rival in methods.items():
            entries.append(({}, contest.enter(name, rival, epsilon)))
            contest.context.report("methods and epsilons", len(entries), total)
        entries.append(({}, contest.enter_ours(epsilon)))
        contest.context.report("methods and epsilons", len(entries), total)
    return entries


def free_levels(contest: Contest) -> dict[str, float]:
    """What is to be had without these methods: errors of the means."""
    budget, seed = Budget(1.0, contest.delta), contest.context.seed_for("baseline")
    models = {
        "global mean, epsilon 1": GlobalMean().fit(contest.train, budget, rng=seed).model_,
        "item mean, epsilon 1": ItemMean().fit(contest.train, budget, rng=seed).model_,
        USER_MEAN: UserMean().fit(contest.train).model_,
    }
    return {name: score(model, contest.train, contest.test) for name, model in models.items()}


def free_table(levels: Mapping[str, float]) -> Table:
    """The levels as a table of their own."""
    rows = [{"model": name, "RMSE": level} for name, level in levels.items()]
    columns = columns_of("model | RMSE .4")
    return Table("What is to be had for nothing, or nearly", columns, rows, key="free")


def judge_order(entries: Entries, levels: Mapping[str, float], yardstick: Yardstick) -> list[Finding]:
    """The papers' order of the methods, and where ours is."""
    error = {(e.method, e.epsilon): e.value.mean for _, e in entries}
    epsilons = sorted({epsilon for _, epsilon in error})
    family = {e: min(error[DPALS, e], error[WEIGHTED, e]) for e in epsilons}
    low, high, behind = ahead(entries)

    def compare(claim: str, one: Mapping[float, float], other: str) -> Finding:
        shown = ", ".join(f"{one[e]:.4f} against {error[other, e]:.4f} at epsilon {e:g}" for e in epsilons)
        return Finding(claim, f"{shown}.", all(one[e] < error[other, e] for e in epsilons))

    published = {e: error[DPFW, e] for e in epsilons}
    return [
        compare("The DPALS family is better than DPFW.", family, DPFW),
        compare("DPFW is better than DP-SVD.", published, DPSVD),
        compare("DPFW is better than DP projected gradient.", published, DPPGD),
        Finding(
            "(why) DP-SVD has item and user means, which DPFW lacks; what factors add depends on denoising.",
            "DP-SVD without any factors, with plain eigenvectors and denoised: "
            + ", ".join(
                f"{error[MEANS, e]:.4f}, {error[DPSVD, e]:.4f} and {error[DENOISED, e]:.4f} at epsilon {e:g}"
                for e in epsilons
            )
            + f"; the free user mean: {levels[USER_MEAN]:.4f}.",
            None,
        ),
        Finding(
            "(ours) Budgeted ALS, untuned, is ahead of all of them everywhere.",
            f"Its error is {low:.3g} to {high:.3g} times theirs"
            + (f"; behind at {'; '.join(behind)}." if behind else "."),
            not behind,
        ),
        *checks(entries, {"": yardstick}),
    ]


def draw(
    entries: Entries,
    levels: Mapping[str, float],
    yardstick: Yardstick,
    title: str,
    published: Mapping[float, float] | None = None,
) -> plotting.Figure:
    """The published methods and ours against epsilon; what was published on other data in a panel of its own."""
    figure, panels = plotting.panels(2 if published else 1, width=6.2, height=4.4)
    _lines(panels[0], entries, (OURS, *AS_PUBLISHED))
    plotting.baseline(panels[0], levels[USER_MEAN], USER_MEAN, linestyle=":")
    plotting.baseline(panels[0], yardstick.value.mean, NOT_PRIVATE, linestyle="--")
    panels[0].set(title=f"Which private method is best?\n{title}", ylabel="test RMSE")
    plotting.label_lines(panels[0])
    if published:
        plotting.published_elsewhere(
            panels[1],
            list(published),
            list(published.values()),
            source="DPFW, Jester with 73,000 users",
            xlabel="epsilon",
        )
        plotting.epsilon_axis(panels[1], list(published))
    return figure


def draw_families(entries: Entries, levels: Mapping[str, float]) -> plotting.Figure:
    """What changes to each published method gain, a panel a family."""
    figure, panels = plotting.panels(len(FAMILIES), width=5.0, height=3.6, sharey=True)
    for axes, (family, names) in zip(panels, FAMILIES.items(), strict=True):
        _lines(axes, entries, names)
        plotting.baseline(axes, levels[USER_MEAN], USER_MEAN, linestyle=":")
        axes.set(title=f"{family}: what do changes gain?")
    for axes in panels:  # limits are shared, and final only now
        plotting.label_lines(axes)
    panels[0].set_ylabel("test RMSE")
    return figure


def _lines(axes: plotting.Axes, entries: Entries, names: Sequence[str]) -> None:
    epsilons = sorted({entry.epsilon for _, entry in entries})
    for number, name in enumerate(names):
        chosen = {e.epsilon: e.value for _, e in entries if e.method == name}
        plotting.curve(
            axes,
            epsilons,
            [chosen[e] for e in epsilons],
            label=name,
            number=number,
            linewidth=2.6 if name == OURS else 1.5,
        )
    plotting.epsilon_axis(axes, epsilons)
