"""The Frank-Wolfe poster's synthetic plot: a rank-one world with many users and few items."""

from __future__ import annotations

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data import splits
from discreet.data.ratings import Ratings
from reproduction.central import posters
from reproduction.central.contest import Contest, table
from reproduction.central.yardstick import NOISE_FREE
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.result import Result
from reproduction.tuning import Choice

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


def run(context: Context) -> Result:
    """All methods at the poster's epsilons."""
    users = context.pick(quick=2_000, full=8_000)
    ratings = rank_one(users, context.rng("world"))
    train, valid, test = splits.by_rating(ratings, (0.98, 0.01, 0.01), rng=context.seed_for("split"))
    trials, draws = context.number_of_trials(), context.number_of_draws()
    contest = Contest(context, train, valid, test, posters.DELTA, trials, draws)
    epsilons = context.pick(quick=(0.5, 1.0), full=posters.EPSILONS)
    entries = posters.enter_all(contest, Choice((40, 80)), epsilons)
    levels = posters.free_levels(contest)
    yardstick = contest.yardstick(NOISE_FREE, first=[{"rank": 1, "penalty": 1e-6, "offset_penalty": 1e-4}])
    data = [
        f"A rank-one world, ratings u v with u and v uniform on 0 to 1: {users:,} users (the poster: 500,000), "
        f"{ITEMS} items, {PER_USER} ratings a user."
    ]
    notes = (contest.label, f"delta {posters.DELTA:g}. The poster prints no numbers for this plot.")
    figure = posters.draw(entries, levels, yardstick, f"Rank-one world, {users:,} users, {ITEMS} items")
    return Result(
        [table("Test error", entries, {"": yardstick}), posters.free_table(levels)],
        posters.judge_order(entries, levels, yardstick),
        figure,
        data=data,
        notes=notes,
        more={"changes": posters.draw_families(entries, levels)},
    )


EXPERIMENT = Experiment(
    name="poster-synthetic",
    title="Poster: synthetic data",
    source="Differentially Private Matrix Completion Revisited (poster), synthetic plot",
    shows="Test error against epsilon of all private methods on a rank-one world.",
    paper_found="DPFW is better than private SVD and private projected gradient, with 500,000 users and 400 items.",
    run=run,
)
