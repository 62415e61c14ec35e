"""The two plots of the Frank-Wolfe poster: all private methods on Jester, and on a rank-one world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data import splits
from discreet.data.ratings import Ratings
from discreet.methods.published.private.baselines import GlobalMean, ItemMean, UserMean
from discreet.privacy.budget import Budget
from reproduction.central import contest as rivals
from reproduction.central.contest import OURS, Contest, Entries, Entry, Rival, ahead, checks, table
from reproduction.central.yardstick import NOT_PRIVATE
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws, score
from reproduction.tuning import Draw, choice

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0)
DPALS, WEIGHTED, DPFW = "DPALS", "DPALS, item weights", "DPFW, as published"
DPSVD, DPPGD = "DP-SVD, as published", "DP projected gradient, denoised (ours)"
AS_PUBLISHED = (DPALS, DPFW, DPSVD, DPPGD)
USER_MEAN = "user mean (free)"


def contestants(most: Draw, half: float) -> dict[str, Rival]:
    """Every published method; ``half`` is half of the rating range, the unit of all bounds."""
    entry = choice((0.4 * half, 0.7 * half, half))
    bound = choice((0.5 * half, 1.0 * half, 2.0 * half, 4.0 * half))
    plain = {"sampling": "uniform", "item_exponent": 0.0}
    ranks = choice((1, 2, 4, 8))
    return {
        DPALS: rivals.dpals(ranks, most, entry, **plain),
        WEIGHTED: rivals.weighted_dpals(ranks, most, entry, item_exponent=0.0),
        DPFW: rivals.frank_wolfe(most, entry, centre="mean"),
        DPSVD: rivals.svd(most, bound, denoise=False),
        DPPGD: rivals.projected_gradient(most, bound, centre="mean"),
    }


def enter_all(contest: Contest, most: Draw, epsilons: Sequence[float]) -> list[tuple[dict[str, Any], Entry]]:
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


def judge_order(entries: Entries, yardstick: Draws) -> list[Finding]:
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
    yardstick: Draws,
    title: str,
    published: Mapping[float, float] | None = None,
) -> plotting.Figure:
    """The published methods and ours against epsilon; what was published on other data in a panel of its own."""
    figure, panels = plotting.panels(2 if published else 1, width=6.2, height=4.4)
    _lines(panels[0], entries, (OURS, *AS_PUBLISHED))
    plotting.baseline(panels[0], levels[USER_MEAN], USER_MEAN, linestyle=":")
    plotting.baseline(panels[0], yardstick.mean, NOT_PRIVATE, linestyle="--")
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


def _lines(axes: plotting.Axes, entries: Entries, names: Sequence[str]) -> None:
    epsilons = sorted({entry.epsilon for _, entry in entries})
    lines = {name: {e.epsilon: e.value for _, e in entries if e.method == name} for name in names}
    plotting.curves(axes, lines, names)
    plotting.epsilon_axis(axes, epsilons)


PUBLISHED = {0.1: 1.120, 0.5: 1.128, 1.0: 1.113}
"""DPFW's error, read off the poster's plot."""
PUBLISHED_OPEN = 1.018
USERS = 12_000
"""As many of Jester's as leave minutes for 25 trials of each of eight methods."""


def jester(context: Context) -> Result:
    """All methods at the poster's epsilons; ratings on 0 to 5, none sampled away unless that helps."""
    data = context.dataset("jester", quick_users=3_000)
    if data.name != "jester":
        data = data.top_items(100)
    elif not data.as_published:
        data = data.some_users(USERS, context.rng("users"))
    data = data.scaled(0.0, 5.0)
    parts = (0.9, 0.05, 0.05)
    train, valid, test = splits.by_rating(data.ratings, parts, rng=context.seed_for("split"))
    trials, draws = context.number_of_trials(), context.number_of_draws()
    contest = Contest(context, train, valid, test, DELTA, trials, draws)
    epsilons = context.pick(quick=(0.5, 1.0), full=EPSILONS)
    entries = enter_all(contest, choice((40, 100)), epsilons)
    levels = free_levels(contest)
    yardstick = contest.yardstick()
    findings = judge_order(entries, yardstick)
    ours = {e.epsilon: e.value.mean for _, e in entries if e.method == DPFW}
    findings.append(
        Finding(
            f"DPFW reaches {PUBLISHED[1.0]:.3f} at epsilon 1 with 73,000 users; without privacy {PUBLISHED_OPEN}.",
            f"Here DPFW as published reaches {ours[max(ours)]:.4f} and ALS without privacy "
            f"{yardstick.mean:.4f} with {data.ratings.n_users:,} users.",
            ours[max(ours)] <= PUBLISHED[1.0] if data.as_published else None,
        )
    )
    kind = "Jester" if data.name == "jester" else "market"
    title = f"{kind}, {data.ratings.n_users:,} users, {data.ratings.n_items:,} items"
    notes = (contest.label, f"delta {DELTA:g}. Split {' / '.join(f'{p:.0%}' for p in parts)} by rating.")
    return Result(
        [table("Test error", entries, {"": yardstick}), free_table(levels)],
        findings,
        draw(entries, levels, yardstick, title, PUBLISHED),
        data=[data.sentence],
        notes=notes,
    )


JESTER = Experiment(
    name="poster-jester",
    title="Poster: Jester",
    source="Differentially Private Matrix Completion Revisited (poster), Jester plot",
    shows="Test error against epsilon of all private methods on Jester, beside the free baselines.",
    paper_found="DPFW at 1.12, 1.13 and 1.11 for epsilon 0.1, 0.5 and 1 with 73,000 users, better than private SVD and "
    "private projected gradient; 1.018 without privacy.",
    run=jester,
)


ITEMS, PER_USER = 400, 80


def rank_one(users: int, rng: np.random.Generator, items: int = ITEMS, per_user: int = PER_USER) -> Ratings:
    """``u_i v_j`` with u and v uniform on [0, 1], seen at so many random items of each user."""
    left, right = rng.random(users), rng.random(items)
    chosen = np.empty((users, per_user), dtype=np.int64)
    for start in range(0, users, 8_192):
        rows = slice(start, min(start + 8_192, users))
        drawn = rng.random((rows.stop - rows.start, items)).argpartition(per_user, axis=1)[:, :per_user]
        chosen[rows] = np.sort(drawn, axis=1)
    values = left[:, None] * right[chosen]
    return Ratings.from_arrays(
        np.arange(0, users * per_user + 1, per_user),
        chosen.ravel(),
        values.ravel(),
        catalogue=Catalogue(np.arange(1, items + 1)),
        rating_range=(0.0, 1.0),
    )


def synthetic(context: Context) -> Result:
    """All methods at the poster's epsilons."""
    users = context.pick(quick=2_000, full=8_000)
    ratings = rank_one(users, context.rng("world"))
    train, valid, test = splits.by_rating(ratings, (0.98, 0.01, 0.01), rng=context.seed_for("split"))
    trials, draws = context.number_of_trials(), context.number_of_draws()
    contest = Contest(context, train, valid, test, DELTA, trials, draws)
    epsilons = context.pick(quick=(0.5, 1.0), full=EPSILONS)
    entries = enter_all(contest, choice((40, 80)), epsilons)
    levels = free_levels(contest)
    yardstick = contest.yardstick()
    data = [
        f"A rank-one world, ratings u v with u and v uniform on 0 to 1: {users:,} users (the poster: 500,000), "
        f"{ITEMS} items, {PER_USER} ratings a user."
    ]
    notes = (contest.label, f"delta {DELTA:g}. The poster prints no numbers for this plot.")
    figure = draw(entries, levels, yardstick, f"Rank-one world, {users:,} users, {ITEMS} items")
    return Result(
        [table("Test error", entries, {"": yardstick}), free_table(levels)],
        judge_order(entries, yardstick),
        figure,
        data=data,
        notes=notes,
    )


SYNTHETIC = Experiment(
    name="poster-synthetic",
    title="Poster: synthetic data",
    source="Differentially Private Matrix Completion Revisited (poster), synthetic plot",
    shows="Test error against epsilon of all private methods on a rank-one world.",
    paper_found="DPFW is better than private SVD and private projected gradient, with 500,000 users and 400 items.",
    run=synthetic,
)
