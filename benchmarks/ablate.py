"""What each constant and part of budgeted ALS is worth: one at a time is put out of action, under the same noise.

    python -m benchmarks.ablate [--data FOLDER] [--draws 5] [--only ml-1m,jester,...] [--parts GROWTH,...]

RMSE of predicted ratings. A row says by how many per cent the error rises without the part: what it is worth there.
Under a fixed noise key the releases of two runs differ only where what is asked differs, so a change of less than the
noise of a run still shows. Data sets that are not there are left out, and said so. Writes
``benchmarks/results/ablate.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.accuracy import RESULTS, Task, tasks
from discreet import Budget, BudgetedALS
from discreet.evaluation.protocols import evaluate_ratings
from discreet.methods.budgeted.public import constants, plan, step
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.privacy.gaussian.noise import Noise

WORLDS = {
    "ml-1m": (1.0, 5.0, 20.0),
    "goodbooks": (1.0, 5.0, 20.0, 1000.0),
    "jester": (0.1, 1.0),
    "market": (0.5, 5.0),
    "low-rank-5000": (1.0, 5.0),
}
# A change below this, in per cent of the error, is none.
LEAST = 0.1


class Part(NamedTuple):
    """What is put out of action, and how: settings, or another value for a name of a module or class."""

    name: str
    instead: str
    settings: Mapping[str, Any] = MappingProxyType({})
    place: Any = constants
    value: Any = None


def parts() -> list[Part]:
    """Every constant, then parts that have none."""

    def constant(name: str, value: Any, instead: str = "") -> Part:
        return Part(name, instead or f"{value}", {}, constants, value)

    return [
        Part("ACTIVITY_SHARE", "0.05", {"activity_share": 0.05}),
        Part("OFFSET_SHARE", "0.1", {"offset_share": 0.1}),
        Part("OFFSET_SHARE", "0.3", {"offset_share": 0.3}),
        Part("GROWTH", "1, all alike", {"growth": 1.0}),
        Part("ITEM_EXPONENT", "0, all alike", {"item_exponent": 0.0}),
        constant("FIRST_WEIGHT_SHARE", 0.1),
        constant("WEIGHT_SHARE", 0.1),
        constant("MOMENT_SHARE", 0.1),
        constant("MOMENT_NOISE", 1e9, "never more for the moment"),
        constant("MOST_MOMENT_SHARE", 0.9),
        constant("LEAST_ENERGY", 0.0),
        constant("LEAST_FREE", 1.0, "1, all of them"),
        constant("USUAL_BETWEEN", 1.0),
        constant("CARRIED", 1e9, "no limit"),
        constant("TOLD", 1e9, "no limit"),
        constant("TOO_NOISY", 1e9, "no limit"),
        constant("READABLE", 1e9, "no limit"),
        constant("ROUNDS", 6),
        constant("ROUNDS", 24),
        constant("INITIAL_RIDGES", (4.0,), "4 from the start"),
        constant("LAST_RIDGE", constants.INITIAL_RIDGES[-1], "as in the rounds"),
        constant("LEAST_SIGNAL", 0.0),
        constant("LEAST_TASTE", 1.0, "1, all is taste"),
        constant("LEAST_LAST_TASTE", 1.0, "1, all is taste"),
        constant("REMEMBERED", 0.0, "0, nothing"),
        constant("STEP_CAUTION", 0.0, "none"),
        constant("LASTING", 1e9, "no averaging of offsets"),
        Part("expected popularity by EM", "as released", {}, ItemWeights, _as_released),
        Part("the moment shrunk by its noise", "as released", {}, step, _moment_as_released),
        Part("squared residual of a usual user", "of the mean", {}, step, _mean_square_alone),
        Part("variance of users' means expected", "as released", {}, plan, _ratio_as_released),
        Part("offsets shrunk to a line in popularity", "to their mean", {}, step, _shrunk_to_mean),
    ]


BY_VALUE = {"_shrunk_to_mean": "regress_offsets", "_mean_square_alone": "_usual_square"}
ATTRIBUTES = {ItemWeights: "_expected", step: "shrink_to_identity", plan: "_expected_ratio"}


def _as_released(weights: ItemWeights) -> Any:
    return weights.estimate


def _moment_as_released(moment: Any, sigma: float) -> Any:
    values, basis = np.linalg.eigh(moment)
    return (basis * np.maximum(values, 0.05)) @ basis.T


def _mean_square_alone(frame: Any, statistics: Any, mean_square: float) -> float:
    return mean_square


def _ratio_as_released(ratio: float, sigma: float) -> float:
    return min(max(ratio, 0.01), 1.0)


def _shrunk_to_mean(noisy: Any, variance: Any, popularity: Any, prior: Any = None) -> Any:
    return step_regress(noisy, variance, np.ones_like(popularity), prior)


step_regress = step.regress_offsets


def without(part: Part, stack: ExitStack) -> None:
    """The part is out of action until the stack ends."""
    if part.value is None:
        return
    name, value = part.name, part.value
    if part.place is not constants:
        name = BY_VALUE.get(value.__name__) or ATTRIBUTES[part.place]
    if part.place is ItemWeights:
        value = property(value)
    stack.enter_context(patch.object(part.place, name, value))


def error(task: Task, epsilon: float, draw: int, settings: Mapping[str, Any]) -> float:
    noise = Noise.fixed_key_not_private(f"ablate {task.name} {epsilon} {draw}")
    method = BudgetedALS(**settings)
    model = method.fit(task.train, Budget(epsilon, task.delta), rng=draw, noise=noise).model_
    return evaluate_ratings(model, task.history, task.test).rmse


def measured(task: Task, epsilon: float, draws: int, rows: list[Part]) -> Iterator[float]:
    """The error with all parts, then by how many per cent it rises without each."""
    base = statistics.mean(error(task, epsilon, draw, {}) for draw in range(draws))
    yield base
    for part in rows:
        with ExitStack() as stack:
            without(part, stack)
            found = statistics.mean(error(task, epsilon, draw, part.settings) for draw in range(draws))
        print(f"{task.name}, epsilon {epsilon:g}, {part.name} {part.instead}: {found:.4f}", flush=True)
        yield 100.0 * (found / base - 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", default=",".join(WORLDS))
    parser.add_argument("--parts", default="", help="names, separated by commas; all where left out")
    options = parser.parse_args()
    wanted = set(filter(None, options.parts.split(",")))
    rows = [part for part in parts() if not wanted or part.name in wanted]
    columns: dict[str, list[float]] = {}
    for task in tasks(options.data, set(options.only.split(","))):
        for epsilon in WORLDS[task.name]:
            columns[f"{task.name} at {epsilon:g}"] = list(measured(task, epsilon, options.draws, rows))
    lines, record = table(columns, rows, options.draws)
    print("\n".join(lines))
    if wanted:
        return
    (RESULTS / "ablate.md").write_text("\n".join(lines) + "\n")
    base = {name: column[0] for name, column in columns.items()}
    (RESULTS / "ablate.json").write_text(json.dumps({"error": base, "without": record}, indent=1) + "\n")


def table(columns: dict[str, list[float]], rows: list[Part], draws: int) -> tuple[list[str], list[dict]]:
    """As a page and as records."""
    lines = [
        "# What the constants and parts of budgeted ALS are worth\n",
        f"Written by `make ablate`: RMSE, {draws} draws, paired noise. The first row is the error, the others "
        f"say by how many per cent it rises without the part. Pays: on how many data sets by {LEAST} % or more.\n",
        f"| part | instead | pays | {' | '.join(columns)} |",
        "|---|---|---:|" + "---:|" * len(columns),
        f"| all parts | | | {' | '.join(f'{column[0]:.4f}' for column in columns.values())} |",
    ]
    record = []
    for place, part in enumerate(rows, 1):
        found = {name: column[place] for name, column in columns.items()}
        sets = {name.partition(" ")[0] for name, rise in found.items() if rise >= LEAST}
        cells = " | ".join(f"{rise:+.2f}" for rise in found.values())
        lines.append(f"| {part.name} | {part.instead} | {len(sets)} | {cells} |")
        record.append({"part": part.name, "instead": part.instead, "pays": sorted(sets), "rise": found})
    return lines, record


if __name__ == "__main__":
    main()
