"""More budget must never hurt: epsilon 1 to 1,000 on every data set and world of ``benchmarks/accuracy.py``.

    python -m benchmarks.budgets [--data FOLDER] [--draws 3] [--only jester,ml-1m,...]

Defaults only. A step to more budget counts as worse where the mean falls behind that of a smaller one by more than half
a percent and two standard deviations of either. Writes ``benchmarks/results/budgets.{md,json}``; the exit code is 1
where any step is worse.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.accuracy import RESULTS, Task, tasks
from benchmarks.comparison import Comparison
from discreet import Budget

EPSILONS = (1.0, 5.0, 20.0, 100.0, 1000.0)
# Below this an error is rounding of a world without noise, and a share of it says nothing.
_ROUNDING = 0.01


def run(task: Task, draws: int, console: Console) -> tuple[Comparison, list[str]]:
    """The table of one data set, and in words what got worse."""
    metric = task.metrics[0]
    table = Comparison({metric: 4, "rank": 0}, title=task.title)
    for epsilon in EPSILONS:
        for draw in range(draws):
            fitted = task.private().fit(task.train, Budget(epsilon, task.delta), rng=draw)
            table.add(
                f"epsilon {epsilon:g}", rank=fitted.rank_, **{metric: task.score(fitted.model_)[metric]}
            )
    console.print(table.to_rich())
    return table, worse(table.to_dict(), metric)


def worse(table: dict[str, dict[str, dict[str, float]]], metric: str) -> list[str]:
    """Where more budget gave less, with the two numbers."""
    sign = 1.0 if metric == "RMSE" else -1.0
    found, best = [], None
    for name, row in table.items():
        cell = row[metric]
        if best is not None:
            loss = sign * (cell["mean"] - best[1]["mean"])
            spread = 2.0 * max(cell.get("std") or 0.0, best[1].get("std") or 0.0)
            if loss > max(0.005 * abs(best[1]["mean"]), spread, 0.5 * _ROUNDING if metric == "RMSE" else 0.0):
                found.append(f"{name}: {cell['mean']:.4f}, {best[0]}: {best[1]['mean']:.4f}")
        if best is None or sign * (cell["mean"] - best[1]["mean"]) < 0.0:
            best = (name, cell)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    console, page, data = Console(), RESULTS / "budgets.md", RESULTS / "budgets.json"
    only = set(filter(None, options.only.split(",")))
    record = json.loads(data.read_text()) if only and data.exists() else {}
    for task in tasks(options.data, only):
        table, losses = run(task, options.draws, console)
        record[task.name] = {"title": task.title, "table": table.to_dict(), "markdown": table.to_markdown()}
        record[task.name]["worse"] = losses
    parts = [
        "# More budget\n\nWritten by `benchmarks/budgets.py`: defaults, mean ± standard deviation over noise draws.\n"
    ]
    for entry in record.values():
        verdict = (
            "Worse: " + "; ".join(entry["worse"]) if entry["worse"] else "No step to more budget is worse."
        )
        parts.append(f"## {entry['title']}\n\n{entry['markdown']}\n\n{verdict}\n")
    page.write_text("\n".join(parts))
    data.write_text(json.dumps(record, indent=2) + "\n")
    lost = {name: entry["worse"] for name, entry in record.items() if entry["worse"]}
    for name, losses in lost.items():
        console.print(f"{name}: more budget is worse: {'; '.join(losses)}")
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
