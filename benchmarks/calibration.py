"""How often 90 % intervals of scores hold the score of the same run without noise, popular and rare items apart.

    python -m benchmarks.calibration [--data FOLDER] [--draws 5] [--only ml-1m,...]

Defaults only. The same run without noise has the same start, rank, rounds and shares of the budget, asks the same
questions of the same users, and knows that there is no noise (docs/decisions/0087-taste-that-noise-hides.md). For
lists it has the ridge that people chose in the run with noise: like the rank, that is a setting of the model.
Head: the most popular items that have half of all takes; tail: the rarer half of the other items that were taken at
all. Pairs of 100 users and all items of a kind; data sets as in ``benchmarks/accuracy.py``. Writes
``benchmarks/results/calibration.{md,json}`` after every data set.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.accuracy import RESULTS, Task, tasks
from discreet import Budget, BudgetedALS
from discreet.evaluation.comparison import Comparison
from discreet.methods.budgeted.public.leaning import CLICK_PENALTY, RIDGES
from discreet.methods.budgeted.public.questions import PenaltyQuestion
from discreet.methods.budgeted.public.train import BUDGETED
from discreet.methods.budgeted.settings import BudgetedSettings
from discreet.methods.public_half import Facts, Questions
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.preferences import NoisyPreferences

RATED = "jester,ml-1m,goodbooks,low-rank-5000,low-rank-20000,market"
NAMES = f"{RATED},ml-1m-lists,ml-1m-clicks,goodbooks-clicks,market-clicks"
EPSILONS = (1.0, 5.0, 20.0)
OTHER_EPSILONS = {"jester": (0.1, 0.5, 1.0), "market": (0.5, 1.0, 5.0)}
NO_NOISE = 1e6  # epsilon
WIDTH = 1.645
USERS = 100


def without_noise(task: Task, fitted: BudgetedALS, budget: Budget, seed: int) -> Model:
    """The run that asks all questions as if it had this budget, and gets answers of a budget without bounds.

    A run that simply has more budget weighs users in another way, and so learns something else.
    """
    endless = Budget(NO_NOISE, task.delta)
    excess = endless.mu / budget.mu
    chosen = _preferences(fitted.model_.item_side) if fitted.rank_ and not task.rates else None

    def train(settings: BudgetedSettings, facts: Facts, rng: np.random.Generator) -> Questions:
        asking = BUDGETED.train(settings, replace(facts, mu=facts.mu / excess), rng)
        question = next(asking)
        while True:
            answer = yield question.at(question.mu * excess)
            if isinstance(question, PenaltyQuestion):
                answer = chosen
            try:
                question = asking.send(answer)
            except StopIteration as end:
                return end.value

    class WithoutNoise(BudgetedALS):
        public_half = replace(BUDGETED, train=train)

    same = {"rank": fitted.rank_, "rounds": fitted.rounds_} if fitted.rank_ else {"rank": 0}
    return WithoutNoise(goal=task.goal, **same).fit(task.train, endless, rng=seed).model_


def _preferences(side: ItemSide) -> NoisyPreferences:
    """Votes by which the ridge of ``side`` wins."""
    ridge = side.clicks.factor_penalty / (CLICK_PENALTY * side.clicks.gravity)
    return NoisyPreferences(-np.abs(np.log(np.array(RIDGES) / ridge)), 1e-9)


def coverage(task: Task, epsilon: float, seed: int) -> dict[str, float]:
    budget = Budget(epsilon, task.delta)
    fitted = task.private().fit(task.train, budget, rng=seed)
    quiet = without_noise(task, fitted, budget, seed)
    users = np.linspace(0, task.train.n_users - 1, USERS).astype(int)
    some = task.train.take_users(users)
    side = fitted.model_.item_side
    if side.doubt is None:
        return {}
    ours, true = _scores(fitted.model_, some), _scores(quiet, some)
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
        for epsilon in OTHER_EPSILONS.get(task.name, EPSILONS):
            for draw in range(options.draws):
                found = coverage(task, epsilon, draw)
                table.add(f"epsilon {epsilon:g}", **found)
                said = ", ".join(f"{kind} {found[kind]:.2f}" for kind in ("head", "tail") if kind in found)
                print(
                    f"{task.name}, epsilon {epsilon:g}: draw {draw + 1} of {options.draws}, {said}",
                    flush=True,
                )
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
    parts = [
        f"## {one['title']}, goal {one['goal']}, {one['draws']} draws\n\n{one['page']}\n"
        for one in record.values()
    ]
    (RESULTS / "calibration.md").write_text("\n".join([head, *parts]))
    (RESULTS / "calibration.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
