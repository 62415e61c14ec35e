"""How often 90 % intervals of scores hold the score of the same run without noise, popular and rare items apart.

    python benchmarks/calibration.py [--data FOLDER] [--draws 5] [--only ml-1m,...]

Defaults only. The same run without noise has the same start, rank and rounds and a budget of epsilon 1,000,000
(docs/decisions/0050-calibrated-doubt.md). Head: the most popular items that have half of all takes; tail: the rarer
half of the other items that were taken at all. Pairs of 100 users and all items of a kind; data sets as in
``benchmarks/accuracy.py``. Writes ``benchmarks/results/calibration.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from rich.console import Console

from accuracy import RESULTS, Task, tasks
from discreet import Budget
from discreet.evaluation.comparison import Comparison
from discreet.model import Model

NAMES = "ml-1m,goodbooks,market,ml-1m-lists,ml-1m-clicks,goodbooks-clicks,market-clicks"
EPSILONS = (1.0, 5.0, 20.0)
WIDTH = 1.645
USERS = 100


def coverage(task: Task, epsilon: float, seed: int) -> dict[str, float]:
    fitted = task.private().fit(task.train, Budget(epsilon, task.delta), rng=seed)
    same = {"rank": fitted.rank_, "rounds": fitted.rounds_} if fitted.rank_ else {"rank": 0}
    quiet = task.private(**same).fit(task.train, Budget(1e6, task.delta), rng=seed)
    users = np.linspace(0, task.train.n_users - 1, USERS).astype(int)
    some = task.train.take_users(users)
    side = fitted.model_.item_side
    if side.doubt is None:
        return {}
    ours, true = _scores(fitted.model_, some), _scores(quiet.model_, some)
    items = np.broadcast_to(np.arange(side.n_items), ours.shape)
    coefficients = side.fold_in(some.indptr, some.items, some.values)
    errors = side.doubt.standard_errors(coefficients, items, ours)
    held = np.abs(ours - true) < WIDTH * errors
    counts = np.bincount(task.train.items, minlength=side.n_items)
    order, used = np.argsort(-counts, kind="stable"), int((counts > 0).sum())
    head = int(np.searchsorted(np.cumsum(counts[order]), 0.5 * counts.sum())) + 1
    found = {
        "head": float(held[:, order[:head]].mean()),
        "tail": float(held[:, order[head + (used - head) // 2 : used]].mean()),
        "head unknown": float(side.doubt.unknown[order[:head]].mean()),
        "tail unknown": float(side.doubt.unknown[order[head + (used - head) // 2 : used]].mean()),
        "rank": float(fitted.rank_),
    }
    if used < side.n_items:
        found["unused unknown"] = float(side.doubt.unknown[order[used:]].mean())
    return found


def _scores(model: Model, some: object) -> np.ndarray:
    """Before clipping: the interval is one of the expected value."""
    side = model.item_side
    coefficients = side.fold_in(some.indptr, some.items, some.values)  # type: ignore[attr-defined]
    return side.centre + side.offsets + coefficients @ side.design().T


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", default=NAMES)
    options = parser.parse_args()
    data, console = RESULTS / "calibration.json", Console()
    record = json.loads(data.read_text()) if data.exists() and options.only != NAMES else {}
    metrics = {"head": 2, "tail": 2, "head unknown": 2, "tail unknown": 2, "unused unknown": 2, "rank": 0}
    for task in tasks(options.data, set(options.only.split(","))):
        table = Comparison(metrics, title=task.title)
        for epsilon in EPSILONS:
            for draw in range(options.draws):
                table.add(f"epsilon {epsilon:g}", **coverage(task, epsilon, draw))
        console.print(table.to_rich())
        record[task.name] = {
            "title": task.title,
            "goal": task.goal if task.train.explicit else "rank",
            "draws": options.draws,
            "page": table.to_markdown(),
            "table": table.to_dict(),
        }
        _write(record)


def _write(record: dict[str, dict]) -> None:
    head = (
        "# Calibration\n\nWritten by `benchmarks/calibration.py`: share of pairs whose 90 % interval holds the score "
        "of the same run without noise, and share of items marked as unknown; mean ± standard deviation over draws.\n"
    )
    parts = [f"## {one['title']}, goal {one['goal']}\n\n{one['page']}\n" for one in record.values()]
    (RESULTS / "calibration.md").write_text("\n".join([head, *parts]))
    (RESULTS / "calibration.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
