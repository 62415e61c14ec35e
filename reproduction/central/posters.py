"""What the two plots of the Frank-Wolfe poster share: all private methods on one task, and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.methods.als import ALS
from discreet.methods.svd.estimator import PrivateSVD
from discreet.methods.trivial.estimators import GlobalMean, ItemMean, UserMean
from discreet.privacy.budget import Budget
from reproduction.central import rivals
from reproduction.central.contest import OURS, Contest, Entry, Rival, ahead
from reproduction.output import plotting
from reproduction.result import Column, Finding, Table
from reproduction.scoring import score
from reproduction.tuning import Choice, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "DELTA",
    "EPSILONS",
    "Entries",
    "contestants",
    "draw",
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
Entries = Sequence[tuple[Mapping[str, Any], Entry]]


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
    """What is to be had without these methods: errors of the means and of the model without privacy."""
    budget, seed = Budget(1.0, contest.delta), contest.context.seed_for("baseline")
    models = {
        "global mean, epsilon 1": GlobalMean().fit(contest.train, budget, rng=seed).model_,
        "item mean, epsilon 1": ItemMean().fit(contest.train, budget, rng=seed).model_,
        "user mean (free)": UserMean().fit(contest.train).model_,
        "non-private ALS": ALS(rank=8, rounds=10).fit(contest.train, rng=seed).model_,
    }
    return {name: score(model, contest.train, contest.test) for name, model in models.items()}


def free_table(levels: Mapping[str, float]) -> Table:
    """The levels as a table of their own."""
    rows = [{"model": name, "RMSE": level} for name, level in levels.items()]
    columns = (Column("model"), Column("RMSE", digits=4))
    return Table("What is to be had for nothing, or without privacy", columns, rows, key="free")


def judge_order(entries: Entries, levels: Mapping[str, float]) -> list[Finding]:
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
            + f"; the free user mean: {levels['user mean (free)']:.4f}.",
            None,
        ),
        Finding(
            "(ours) Budgeted ALS, untuned, is ahead of all of them everywhere.",
            f"Its error is {low:.3g} to {high:.3g} times theirs"
            + (f"; behind at {'; '.join(behind)}." if behind else "."),
            not behind,
        ),
    ]


def draw(
    entries: Entries, levels: Mapping[str, float], title: str, published: Mapping[float, float] | None = None
) -> Figure:
    """Error against epsilon, one line a method, the free levels across."""
    figure, (axes,) = plotting.panels(width=8.4, height=5.0)
    names = list(dict.fromkeys(entry.method for _, entry in entries))
    epsilons = sorted({entry.epsilon for _, entry in entries})
    for number, name in enumerate(sorted(names, key=lambda name: name != OURS)):
        chosen = {e.epsilon: e.value for _, e in entries if e.method == name}
        plotting.curve(
            axes,
            epsilons,
            [chosen[e].mean for e in epsilons],
            [chosen[e].spread for e in epsilons],
            label=name,
            number=number,
            linewidth=2.6 if name == OURS else 1.5,
        )
    for (name, level), style in zip(levels.items(), (":", "-.", "--", "-"), strict=True):
        plotting.baseline(axes, level, name, linestyle=style)
    if published:
        plotting.published(axes, list(published), list(published.values()), "DPFW, 73,000 users")
    plotting.epsilon_axis(axes, epsilons)
    axes.set(title=title, ylabel="test RMSE")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure
