"""The Frank-Wolfe poster's plot on Jester: all private methods, 100 jokes."""

from __future__ import annotations

from discreet.data import splits
from reproduction.central import posters
from reproduction.central.contest import Contest, table
from reproduction.central.yardstick import FIRST, RATINGS
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.result import Finding, Result
from reproduction.tuning import Choice

PUBLISHED = {0.1: 1.120, 0.5: 1.128, 1.0: 1.113}
"""DPFW's error, read off the poster's plot."""
PUBLISHED_OPEN = 1.018
USERS = 12_000
"""As many of Jester's as leave minutes for 25 trials of each of eight methods."""


def run(context: Context) -> Result:
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
    contest = Contest(context, train, valid, test, posters.DELTA, trials, draws)
    epsilons = context.pick(quick=(0.5, 1.0), full=posters.EPSILONS)
    entries = posters.enter_all(contest, Choice((40, 100)), epsilons)
    levels = posters.free_levels(contest)
    yardstick = contest.yardstick(RATINGS, first=FIRST)
    findings = posters.judge_order(entries, levels, yardstick)
    ours = {e.epsilon: e.value.mean for _, e in entries if e.method == posters.DPFW}
    findings.append(
        Finding(
            f"DPFW reaches {PUBLISHED[1.0]:.3f} at epsilon 1 with 73,000 users; without privacy {PUBLISHED_OPEN}.",
            f"Here DPFW as published reaches {ours[max(ours)]:.4f} and ALS without privacy "
            f"{yardstick.value.mean:.4f} with {data.ratings.n_users:,} users.",
            ours[max(ours)] <= PUBLISHED[1.0] if data.as_published else None,
        )
    )
    kind = "Jester" if data.name == "jester" else "market"
    title = f"{kind}, {data.ratings.n_users:,} users, {data.ratings.n_items:,} items"
    notes = (
        contest.label,
        f"delta {posters.DELTA:g}. Split {' / '.join(f'{p:.0%}' for p in parts)} by rating.",
    )
    return Result(
        [table("Test error", entries, {"": yardstick}), posters.free_table(levels)],
        findings,
        posters.draw(entries, levels, yardstick, title, PUBLISHED),
        data=[data.sentence],
        notes=notes,
        more={"changes": posters.draw_families(entries, levels)},
    )


EXPERIMENT = Experiment(
    name="poster-jester",
    title="Poster: Jester",
    source="Differentially Private Matrix Completion Revisited (poster), Jester plot",
    shows="Test error against epsilon of all private methods on Jester, beside the free baselines.",
    paper_found="DPFW at 1.12, 1.13 and 1.11 for epsilon 0.1, 0.5 and 1 with 73,000 users, better than private SVD and "
    "private projected gradient; 1.018 without privacy.",
    run=run,
)
