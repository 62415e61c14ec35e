"""``discreet demo``: private and non-private side by side on an embedded market."""

from __future__ import annotations

import time
from typing import Any

from discreet.cli.answers import show_recommendations
from discreet.cli.output import Output, print_json, printer, progress_bar, show_table
from discreet.cli.request import takes
from discreet.data.splits import by_rating
from discreet.data.synthetic import market
from discreet.evaluation import evaluate_ranking
from discreet.methods.ease.estimator import EASE
from discreet.privacy.budget import Budget

__all__ = ["command"]

USERS, ITEMS, RATINGS = 6_000, 1_000, 250_000
# People take what suits them: otherwise the same list for everybody would be as good as any.
LIFT = 1.5
SEED = 20
EPSILONS, DELTA = (None, 5.0, 1.0), 1e-6
AT = 20
RECALL = f"recall@{AT}"
NEWCOMER = {"item-0007": 5.0, "item-0042": 4.5, "item-0128": 1.0, "item-0256": 2.0, "item-0599": 5.0}


@takes(Output, "demo")
def command(request: Output) -> None:
    """Train with and without privacy on an embedded market, and recommend for a newcomer.

    Of what was held back, recall@20 is the share that stands among everybody's first twenty.

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
    if request.as_json:
        sizes = {"users": USERS, "items": ITEMS, "ratings": RATINGS, "seconds": round(seconds, 3)}
        statement = model.statement.model_dump(mode="json")
        told = {"delta": DELTA, "comparison": rows, "statement": statement, "newcomer": NEWCOMER}
        print_json({**told, **found.to_dict(), "holder": sizes})
        return
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


def _row(method: str, epsilon: float | None, recall: float, seconds: float | None) -> dict[str, Any]:
    return {"method": method, "epsilon": epsilon, RECALL: recall, "seconds": seconds}
