"""``discreet demo``: private and non-private side by side on an embedded market."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from discreet.cli.answers import show_recommendations
from discreet.cli.output import Output, ReportProgress, print_json, printer, progress_bar
from discreet.cli.request import takes
from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.data.synthetic import market
from discreet.evaluation import RankingScores, evaluate_ranking
from discreet.methods.ease.estimator import EASE
from discreet.model import Model, Recommendations
from discreet.privacy.budget import Budget

__all__ = ["command"]

USERS, ITEMS, RATINGS = 6_000, 1_000, 250_000
# People take what suits them: otherwise the same list for everybody would be as good as any.
LIFT = 1.5
SEED = 20
EPSILONS, DELTA = (5.0, 1.0), 1e-6
AT = 20
RECALL = f"recall@{AT}"
NEWCOMER = {"item-0007": 5.0, "item-0042": 4.5, "item-0128": 1.0, "item-0256": 2.0, "item-0599": 5.0}


@dataclass
class _Demo:
    """What the demo found; the last model is the most private one."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    model: Model | None = None

    def add(
        self, method: str, recall: float, seconds: float | None = None, epsilon: float | None = None
    ) -> None:
        self.rows.append({"method": method, "epsilon": epsilon, RECALL: recall, "seconds": seconds})


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
    with progress_bar() as report:
        report("making a market", 0, 1)
        train, test = by_rating(market(USERS, ITEMS, RATINGS, rng=SEED, lift=LIFT), (0.9, 0.1), rng=SEED)
        report("making a market", 1, 1)
        demo = _compare(train, test, report)
    assert demo.model is not None
    found = demo.model.recommend(NEWCOMER, 5)
    seconds = time.perf_counter() - started
    if request.as_json:
        print_json(_as_dict(demo, demo.model, found, seconds))
    else:
        _show(demo, demo.model, found, seconds)


def _compare(train: Ratings, test: Ratings, report: ReportProgress) -> _Demo:
    demo = _Demo()
    scores, seconds = _train(None, train, test, report, demo)
    demo.add("popularity, not private", scores.popularity_recall)
    demo.add("the same method, not private", scores.recall, seconds)
    for epsilon in EPSILONS:
        scores, seconds = _train(Budget(epsilon, DELTA), train, test, report, demo)
        demo.add(f"private, epsilon {epsilon:g}", scores.recall, seconds, epsilon)
    return demo


def _train(
    budget: Budget | None, train: Ratings, test: Ratings, report: ReportProgress, demo: _Demo
) -> tuple[RankingScores, float]:
    started = time.perf_counter()

    def named(stage: str, done: int, total: int) -> None:
        report(f"{'not private' if budget is None else f'epsilon {budget.epsilon:g}'}: {stage}", done, total)

    demo.model = EASE().fit(train, budget, rng=SEED, progress=named).model_
    seconds = time.perf_counter() - started
    return evaluate_ranking(demo.model, train, test, AT), seconds


def _as_dict(demo: _Demo, model: Model, found: Recommendations, seconds: float) -> dict[str, Any]:
    return {
        "delta": DELTA,
        "comparison": demo.rows,
        "statement": model.statement.model_dump(mode="json"),
        "newcomer": NEWCOMER,
        **found.to_dict(),
        "holder": {"users": USERS, "items": ITEMS, "ratings": RATINGS, "seconds": round(seconds, 3)},
    }


def _show(demo: _Demo, model: Model, found: Recommendations, seconds: float) -> None:
    table = Table()
    table.add_column("method")
    for name in (RECALL, "seconds"):
        table.add_column(name, justify="right")
    for row in demo.rows:
        seconds_of = "–" if row["seconds"] is None else f"{row['seconds']:.1f}"
        table.add_row(row["method"], f"{row[RECALL]:.4f}", seconds_of)
    console = printer()
    size = f"{USERS:,} users, {ITEMS:,} items and {RATINGS:,} ratings from 1 to 5"
    console.print(f"A market of {size}, a tenth of them for testing; delta {DELTA:g}.")
    console.print(table)
    console.print()
    console.print(str(model.statement), markup=False)
    console.print()
    likes = ", ".join(f"{item} {rating:g}" for item, rating in NEWCOMER.items())
    console.print(f"A newcomer who was not in the data rated {likes}. At epsilon {EPSILONS[-1]:g}:")
    show_recommendations(found, "For the newcomer", "score")
    console.print(f"{seconds:.1f} s in all. Next: discreet train --help")
