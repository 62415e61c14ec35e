"""``discreet demo`` and ``sample``: private and non-private side by side on a made-up market, and it as files."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl

from discreet.cli.output import (
    Answer,
    Output,
    Replaces,
    check_folder,
    printer,
    progress_bar,
    show_table,
    written,
)
from discreet.cli.recommend import show_recommendations
from discreet.cli.request import option, takes
from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.data.synthetic import market
from discreet.evaluation import evaluate_ranking
from discreet.methods.ease.estimator import EASE
from discreet.privacy.budget import Budget

__all__ = ["demo", "sample"]

USERS, ITEMS, RATINGS = 6_000, 1_000, 250_000
# People take what suits them: otherwise the same list for everybody would be as good as any.
LIFT = 1.5
SEED = 20
EPSILONS, DELTA = (None, 5.0, 1.0), 1e-6
AT = 20
RECALL = f"recall@{AT}"
NEWCOMER = {"item-0007": 5.0, "item-0042": 4.5, "item-0128": 1.0, "item-0256": 2.0, "item-0599": 5.0}


@takes(Output, "demo")
def demo(request: Output) -> Answer:
    """Of what was held back, recall@20 is the share that stands among everybody's first twenty.

    The ratings are made up (half stars, popular and rare items, busy and quiet users), so nothing is
    downloaded and nobody's data is used. The first run also compiles the kernels.

    \b
    Example:
      discreet demo
    """
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    with progress_bar() as report:
        report("making a market", 0, 1)
        train, test = by_rating(market(USERS, ITEMS, RATINGS, rng=SEED, lift=LIFT), (0.9, 0.1), rng=SEED)
        report("making a market", 1, 1)
        for epsilon in EPSILONS:
            name = "not private" if epsilon is None else f"epsilon {epsilon:g}"

            def named(stage: str, done: int, total: int, name: str = name) -> None:
                report(f"{name}: {stage}", done, total)

            began = time.perf_counter()
            budget = None if epsilon is None else Budget(epsilon, DELTA)
            model = EASE().fit(train, budget, rng=SEED, progress=named).model_
            took = time.perf_counter() - began
            scores = evaluate_ranking(model, train, test, AT)
            if epsilon is None:
                rows.append(_row("popularity, not private", None, scores.popularity_recall, None))
            method = f"private, {name}" if epsilon else f"the same method, {name}"
            rows.append(_row(method, epsilon, scores.recall, took))
    found = model.recommend(NEWCOMER, 5)
    seconds = time.perf_counter() - started
    sizes = {"users": USERS, "items": ITEMS, "ratings": RATINGS, "seconds": round(seconds, 3)}
    statement = model.statement.model_dump(mode="json")
    told = {"delta": DELTA, "comparison": rows, "statement": statement, "newcomer": NEWCOMER}

    def show() -> None:
        shown = [
            (row["method"], f"{row[RECALL]:.4f}", "–" if row["seconds"] is None else f"{row['seconds']:.1f}")
            for row in rows
        ]
        size = f"{USERS:,} users, {ITEMS:,} items and {RATINGS:,} ratings from 1 to 5"
        likes = ", ".join(f"{item} {rating:g}" for item, rating in NEWCOMER.items())
        console = printer()
        console.print(f"A market of {size}, a tenth of them for testing; delta {DELTA:g}.")
        show_table(shown, ("method", RECALL, "seconds"), right=(RECALL, "seconds"))
        console.print("", str(model.statement), "", sep="\n")
        console.print(f"A newcomer who was not in the data rated {likes}. At epsilon {EPSILONS[-1]:g}:")
        show_recommendations(found, "For the newcomer", "score")
        console.print(f"{seconds:.1f} s in all. Next: discreet train --help")

    return Answer({**told, **found.to_dict(), "holder": sizes}, show)


def _row(method: str, epsilon: float | None, recall: float, seconds: float | None) -> dict[str, Any]:
    return {"method": method, "epsilon": epsilon, RECALL: recall, "seconds": seconds}


_KINDS = ("drama", "comedy", "thriller", "documentary", "music", "family", "science", "travel")


class _Sample(Output, Replaces):
    out: str = option("Folder to put the files into; made if it is missing.", metavar="DIR")
    users: int = option("How many people rate.", USERS, ge=100)
    seed: int = option("Of the market.", SEED, ge=0)


@takes(_Sample, "sample")
def sample(request: _Sample) -> Answer:
    """Nobody's data: half stars, popular and rare items, busy and quiet people. Every line of the README can be
    followed with these files word for word.

    \b
    Example:
      discreet sample --out .
    """
    users, seed = request.users, request.seed
    ratings = market(users, ITEMS, round(RATINGS * users / USERS), rng=seed, lift=LIFT)
    train, test = by_rating(ratings, (0.9, 0.1), rng=seed)
    tables = {
        "ratings.csv": _rows(train),
        "items.csv": _items(ratings),
        "test.csv": _rows(test),
        "my-history.csv": pl.DataFrame({"item": list(NEWCOMER), "rating": list(NEWCOMER.values())}),
    }
    folder = check_folder(request.out, tables, force=request.force)
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.write_csv(folder / name)
    return written(request.out, tables)


def _rows(ratings: Ratings) -> pl.DataFrame:
    assert ratings.catalogue is not None
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    return pl.DataFrame(
        {"user": users, "item": ratings.catalogue.ids[ratings.items], "rating": ratings.values}, strict=False
    )


def _items(ratings: Ratings) -> pl.DataFrame:
    """With a title and a kind each, which have nothing to do with taste."""
    assert ratings.catalogue is not None
    ids = ratings.catalogue.ids.tolist()
    kinds = [_KINDS[number % len(_KINDS)] for number in range(len(ids))]
    titles = [f"The {kind} of {number}" for number, kind in enumerate(kinds, 1)]
    return pl.DataFrame({"item": ids, "title": titles, "kind": kinds})
