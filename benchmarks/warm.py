"""Training every month from the last model: a warm start beside a cold one, at the whole epsilon and at half of it.

    python -m benchmarks.warm [--data FOLDER] [--draws 5] [--only drift,ml-1m]

The second month is trained on and tested; the first month's model, trained at the whole epsilon, is the start. The
drifting market has new users every month, items that drift and some that are new. MovieLens 1M (``ml-1m/`` in FOLDER)
is split into two months with different users. A useless start is that of another market, or for MovieLens one whose
items were exchanged for others at random. Every run is one of the default method, no setting is touched. Writes
``benchmarks/results/warm.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

from benchmarks.comparison import Comparison
from discreet import Budget, BudgetedALS, Catalogue, Model, Ratings
from discreet.data import splits, synthetic
from discreet.evaluation import evaluate_ratings
from discreet.model.start import Start

RESULTS = Path(__file__).parent / "results"
DELTA = 1e-5
NEW_ITEMS, DRIFT, LIFT = 60, 0.2, 2.0


@dataclass(frozen=True)
class Task:
    """Two months, the epsilons of the first, and how a useless start is made of a seed."""

    name: str
    title: str
    before: Ratings
    train: Ratings
    test: Ratings
    epsilons: tuple[float, ...]
    useless: Callable[[Model, Callable[[Ratings], Model], int], Model]

    def score(self, model: Model) -> dict[str, float]:
        return {"RMSE": evaluate_ratings(model, self.train, self.test).rmse}


def tasks(data: Path, only: set[str]) -> Iterator[Task]:
    makers = {
        "drift": drifting,
        "ml-1m": lambda: movielens(data),
    }
    for name, make in makers.items():
        if only and name not in only:
            continue
        try:
            yield make()
        except FileNotFoundError as error:
            print(f"{name}: left out, {error.filename} is not there")


def drifting() -> Task:
    first, second = _months(0)
    train, test = splits.by_rating(second, (0.9, 0.1), rng=0)
    other = _months(1)[0]
    title = "a market that drifts, ratings: 8,000 users, 1,500 items and 60 new"
    return Task("drift", title, first, train, test, (2.0, 5.0), lambda _, fit, seed: fit(other))


def _months(seed: int) -> list[Ratings]:
    return synthetic.drifting_market(
        2, 8_000, 1_500, 240_000, new_items=NEW_ITEMS, drift=DRIFT, lift=LIFT, rng=seed
    )


def movielens(data: Path) -> Task:
    path, items = data / "ml-1m" / "ratings.parquet", data / "ml-1m" / "items.parquet"
    if not path.exists():
        raise FileNotFoundError(2, "no such file", str(path))
    frame, catalogue = pl.read_parquet(path), Catalogue.from_file(items)
    month = np.random.default_rng(0).permutation(int(frame["user"].max()) + 1)[frame["user"].to_numpy()] % 2
    first, second = (
        Ratings.from_frame(
            frame.filter(pl.Series(month == number)),
            user="user",
            item="item",
            rating="rating",
            rating_range=(1.0, 5.0),
            catalogue=catalogue,
        )
        for number in (0, 1)
    )
    train, test = splits.by_rating(second, (0.9, 0.1), rng=0)
    title = "MovieLens 1M, ratings, half of the users in each of two months"
    return Task("ml-1m", title, first, train, test, (5.0, 10.0), _exchanged)


def _exchanged(model: Model, fit: Callable[[Ratings], Model], seed: int) -> Model:
    side = model.item_side
    turn = np.random.default_rng(seed).permutation(side.n_items)
    doubt = side.doubt
    if doubt is not None:
        doubt = replace(doubt, noise_ratio=doubt.noise_ratio[turn])
    assert side.popularity is not None
    mixed = replace(
        side,
        offsets=side.offsets[turn],
        factors=side.factors[turn],
        popularity=side.popularity[turn],
        doubt=doubt,
    )
    return replace(model, item_side=mixed)


def run(task: Task, draws: int, console: Console) -> Comparison:
    table = Comparison({"RMSE": 4, "rank": 0}, title=task.title)
    for epsilon in task.epsilons:
        for draw in range(draws):
            _draw(task, table, epsilon, draw)
            print(f"{task.name}, epsilon {epsilon:g}: draw {draw + 1} of {draws}", flush=True)
    console.print(table.to_rich())
    return table


def _draw(task: Task, table: Comparison, epsilon: float, seed: int) -> None:
    def fit(ratings: Ratings, share: float = 1.0, start: Model | None = None) -> Model:
        budget = Budget(share * epsilon, DELTA)
        return BudgetedALS().fit(ratings, budget, rng=seed, start=start).model_

    def add(name: str, model: Model) -> None:
        table.add(f"{name}, epsilon {epsilon:g}", rank=model.item_side.rank, **task.score(model))

    start = fit(task.before)
    useless = task.useless(start, fit, seed)
    assert task.train.catalogue is not None
    known = Start.of(start, task.train.catalogue).side
    add("the start as it is", replace(start, item_side=known, catalogue=task.train.catalogue))
    for share, words in ((1.0, "the whole"), (0.5, "half")):
        add(f"cold, {words}", fit(task.train, share))
        add(f"warm, {words}", fit(task.train, share, start))
        add(f"useless start, {words}", fit(task.train, share, useless))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    console, data = Console(), RESULTS / "warm.json"
    only = set(filter(None, options.only.split(",")))
    record = json.loads(data.read_text()) if only and data.exists() else {}
    for task in tasks(options.data, only):
        table = run(task, options.draws, console)
        record[task.name] = {"title": task.title, "table": table.to_dict(), "markdown": table.to_markdown()}
        _write(record)


def _write(record: dict[str, dict]) -> None:
    """After every task, so that an interrupted run keeps what it has."""
    head = "# Warm starts\n\nWritten by `benchmarks/warm.py`: mean ± standard deviation over noise draws, "
    head += f"delta {DELTA:g}.\n"
    sections = [f"## {entry['title']}\n\n{entry['markdown']}\n" for entry in record.values()]
    (RESULTS / "warm.md").write_text("\n".join([head, *sections]))
    (RESULTS / "warm.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
