"""Accuracy of the default methods beside the non-private model, offsets or popularity alone, and the free baselines.

    python -m benchmarks.accuracy [--data FOLDER] [--draws 5] [--only jester,ml-1m,...] [--decompose]

With --only the other data sets keep what an earlier run wrote.

FOLDER holds ratings as Parquet (user, item, rating): ``jester/``, ``ml-1m/`` (with ``fold`` and ``items.parquet``)
and ``goodbooks/`` (with ``items.parquet``). What is not there is left out and said so. The DPALS paper's synthetic
world and the skewed market need no files. Every private number is a full run of the default method: no setting is
touched, the same public rule decides everywhere. Writes ``benchmarks/results/accuracy.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from rich.console import Console
from scipy.sparse import csr_array

from benchmarks.comparison import Comparison
from discreet import (
    ALS,
    EASE,
    Budget,
    BudgetedALS,
    Catalogue,
    Model,
    Popularity,
    PrivateMethod,
    Ratings,
    evaluate,
)
from discreet.data import splits, synthetic
from discreet.evaluation import evaluate_ratings
from discreet.methods.registry import default_method
from discreet.model.item_weights import ItemWeights
from discreet.privacy.statement import Statement

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Task:
    """One data set with its split, its budgets, its goal and how to score a model on it."""

    name: str
    title: str
    train: Ratings
    history: Ratings
    test: Ratings
    delta: float
    epsilons: tuple[float, ...]
    published: str = ""
    goal: Literal["rate", "rank"] = "rate"
    yardstick: bool = True

    @property
    def rates(self) -> bool:
        return self.train.explicit and self.goal == "rate"

    @property
    def metrics(self) -> tuple[str, ...]:
        if self.rates:
            return ("RMSE",)
        return ("Recall@20", "nDCG@20", *(("disliked@20", "AUC") if self.train.explicit else ()))

    @property
    def baseline(self) -> PrivateMethod:
        return BudgetedALS(rank=0) if self.rates else Popularity()

    def private(self, **settings: Any) -> PrivateMethod:
        return default_method("rate" if self.rates else "rank")(**settings)

    def plain(self, **settings: Any) -> ALS:
        return ALS(goal=self.goal, **settings)

    def score(self, model: Any) -> dict[str, float]:
        if self.rates:
            return {"RMSE": evaluate_ratings(model, self.history, self.test).rmse}
        scores = evaluate(model, self.test, history=self.history, k=20, only="rankings")
        return {name: scores[name.lower()].value for name in self.metrics}


def tasks(data: Path, only: set[str]) -> Iterator[Task]:
    makers = {
        "jester": lambda: jester(data),
        "ml-1m": lambda: movielens(data),
        "ml-1m-features": lambda: movielens(data, "genres,title"),
        "goodbooks": lambda: goodbooks(data),
        "low-rank-5000": lambda: low_rank(5_000),
        "low-rank-20000": lambda: low_rank(20_000),
        "market": market,
        "ml-1m-lists": lambda: lists(data),
        "ml-1m-lists-features": lambda: lists(data, "genres,title"),
        "ml-1m-clicks": lambda: clicks(data, "ml-1m"),
        "goodbooks-clicks": lambda: clicks(data, "goodbooks"),
        "goodbooks-clicks-features": lambda: clicks(data, "goodbooks", "title,authors:people"),
        "jester-clicks": lambda: jester_clicks(data),
        "market-clicks": market_clicks,
    }
    for name, make in makers.items():
        if only and name not in only:
            continue
        try:
            yield make()
        except FileNotFoundError as error:
            print(f"{name}: left out, {error.filename} is not there")


def _read(path: Path) -> pl.DataFrame:
    if not path.exists():
        raise FileNotFoundError(2, "no such file", str(path))
    return pl.read_parquet(path)


def jester(data: Path) -> Task:
    frame = _read(data / "jester" / "ratings.parquet").with_columns((pl.col("rating") + 10.0) / 4.0)
    ratings = Ratings.from_frame(
        frame, user="user", item="item", rating="rating", rating_range=(0.0, 5.0), catalogue=range(1, 101)
    )
    train, _, test = splits.by_rating(ratings, (0.98, 0.01, 0.01), rng=0)
    note = "published, joint-DP Frank-Wolfe with 73k users (poster's plot): 1.120 / 1.128 / 1.113"
    return Task(
        "jester", "Jester 1, part 1, scaled to 0..5, 98/1/1", train, train, test, 1e-6, (0.1, 0.5, 1.0), note
    )


def movielens(data: Path, features: str | None = None) -> Task:
    frame = _read(data / "ml-1m" / "ratings.parquet")
    reading = _reading(data, "ml-1m", features)
    train = Ratings.from_frame(frame.filter(pl.col("fold") != 5), **reading)
    test = Ratings.from_frame(frame.filter(pl.col("fold") == 5), **reading)
    name, title = _named("ml-1m", "MovieLens 1M, fold 5 held out", features)
    epsilons = (0.5, 1.0, 5.0, 20.0)
    return Task(name, title, train, train, test, 1e-5, epsilons, yardstick=features is None)


def goodbooks(data: Path) -> Task:
    frame = _read(data / "goodbooks" / "ratings.parquet")
    ratings = Ratings.from_frame(frame, **_reading(data, "goodbooks", None))
    train, test = splits.by_rating(ratings, (0.9, 0.1), rng=0)
    epsilons = (1.0, 5.0, 20.0, 100.0, 1000.0)
    return Task("goodbooks", "goodbooks, ratings, 90/10", train, train, test, 1e-5, epsilons)


def lists(data: Path, features: str | None = None) -> Task:
    """What a newcomer does: a file of ratings, the default goal of ``discreet train``."""
    frame = _read(data / "ml-1m" / "ratings.parquet")
    ratings = Ratings.from_frame(frame, **_reading(data, "ml-1m", features))
    name, title = _named("ml-1m-lists", "MovieLens 1M, lists from ratings, 90/10", features)
    return _list_task(name, title, ratings, (0.9, 0.1), features)


def _reading(data: Path, name: str, features: str | None) -> dict[str, Any]:
    path = data / name / "items.parquet"
    _read(path)
    return {
        "user": "user",
        "item": "item",
        "rating": "rating",
        "rating_range": (1.0, 5.0),
        "catalogue": Catalogue.from_file(path, features=features),
    }


def _named(name: str, title: str, features: str | None) -> tuple[str, str]:
    if features is None:
        return name, title
    return f"{name}-features", f"{title}, with features ({features})"


def low_rank(users: int) -> Task:
    train, test = synthetic.low_rank(users, rng=0)
    title = f"the DPALS paper's synthetic world: rank 5, 1,000 items, {users:,} users (trivial = 1)"
    return Task(f"low-rank-{users}", title, train, train, test, 1e-5, (1.0, 5.0, 20.0))


def market() -> Task:
    ratings = synthetic.market(20_000, 2_000, 1_000_000, rng=0)
    train, _, test = splits.by_rating(ratings, (0.9, 0.05, 0.05), rng=0)
    return Task(
        "market", "skewed market: 20,000 users, 2,000 items", train, train, test, 1e-6, (0.5, 1.0, 5.0)
    )


def clicks(data: Path, name: str, features: str | None = None) -> Task:
    """All ratings as clicks."""
    catalogue = Catalogue.from_file(data / name / "items.parquet", features=features)
    frame = _read(data / name / "ratings.parquet")
    ratings = Ratings.from_frame(frame, user="user", item="item", catalogue=catalogue)
    shares = (0.9, 0.1) if name == "ml-1m" else (0.8, 0.2)
    divided = "/".join(f"{100 * share:.0f}" for share in shares)
    found, title = _named(f"{name}-clicks", f"{name}, all ratings as clicks, {divided}", features)
    return _list_task(found, title, ratings, shares, features)


def jester_clicks(data: Path) -> Task:
    frame = _read(data / "jester" / "ratings.parquet").filter(pl.col("rating") >= 5.0)
    ratings = Ratings.from_frame(frame, user="user", item="item", catalogue=range(1, 101))
    title = "Jester, ratings of 5 and more of 10 as clicks, 80/20"
    return _list_task("jester-clicks", title, ratings, (0.8, 0.2))


def market_clicks() -> Task:
    """What people take there follows popularity, whatever their taste: lists must not be below it."""
    rated = synthetic.market(20_000, 2_000, 1_500_000, rng=0)
    ratings = Ratings.from_arrays(
        rated.indptr, rated.items, np.ones(rated.n_ratings), catalogue=rated.catalogue, rating_range=None
    )
    title = "skewed market, 20,000 users, 2,000 items, 1.5 million clicks, 80/20"
    return _list_task("market-clicks", title, ratings, (0.8, 0.2))


def _list_task(
    name: str, title: str, ratings: Ratings, shares: tuple[float, float], features: str | None = None
) -> Task:
    train, test = splits.by_rating(ratings, shares, rng=0)
    epsilons = (1.0, 5.0, 20.0)
    return Task(name, title, train, train, test, 1e-5, epsilons, goal="rank", yardstick=features is None)


def run(task: Task, draws: int, console: Console) -> Comparison:
    rank = {"rank": 0} if task.rates else {}
    table = Comparison({**dict.fromkeys(task.metrics, 4), **rank, "seconds": 1}, title=task.title)
    _baselines(task, table)
    for draw in range((min(draws, 3) if task.rates else 1) if task.yardstick else 0):
        _fit(task, table, "non-private ALS", lambda seed=draw: task.plain().fit(task.train, rng=seed))
    if not task.rates:
        _fit(task, table, "non-private EASE", lambda: EASE(keep_sums=False).fit(task.train, rng=0))
        for power in (0.0, 0.5):
            form = "" if power == 0.0 else ", times the root of the count"
            table.add(f"non-private GF-CF{form}", **task.score(graph_filter(task.train, power)))
    plain = "offsets alone" if task.rates else "popularity"
    for epsilon in task.epsilons:
        budget = Budget(epsilon, task.delta)
        name = f"private, epsilon {epsilon:g}"
        for draw in range(draws):
            _fit(task, table, name, lambda b=budget, s=draw: task.private().fit(task.train, b, rng=s))
        for _ in range(draws if task.yardstick else 0):
            _fit(
                task,
                table,
                f"{plain}, epsilon {epsilon:g}",
                lambda b=budget: task.baseline.fit(task.train, b),
            )
        if task.rates:
            _before(task, table, name)
    console.print(table.to_rich())
    if task.published:
        console.print(task.published)
    return table


def _before(task: Task, table: Comparison, name: str) -> None:
    """What version 0.2.0 reached, as its own run of this benchmark wrote it."""
    stored = json.loads((RESULTS / "accuracy-0.2.0.json").read_text())
    earlier = stored.get(task.name, {}).get("table", {}).get(name)
    if earlier is not None:
        table.add(f"{name}, version 0.2.0", **{task.metrics[0]: earlier[task.metrics[0]]["mean"]})


def _baselines(task: Task, table: Comparison) -> None:
    # Offsets or popularity over the training users, without noise.
    exact = task.baseline.fit(task.train, Budget(1000.0, task.delta)).model_
    if task.rates:
        scores = evaluate_ratings(exact, task.history, task.test)
        table.add("global mean", RMSE=scores.global_mean_rmse)
        table.add("user mean (free)", RMSE=scores.user_mean_rmse)
    else:
        table.add("popularity, no noise", **task.score(exact))


def _fit(task: Task, table: Comparison, name: str, train: Callable[[], ALS | PrivateMethod]) -> None:
    start = time.perf_counter()
    fitted = train()
    seconds = time.perf_counter() - start
    rank = {"rank": fitted.rank_} if task.rates else {}
    table.add(name, **rank, seconds=seconds, **task.score(fitted.model_))


def graph_filter(ratings: Ratings, power: float) -> Model:
    """GF-CF without privacy: x D^-1/2 R' N^-1 R D^-1/2, times count^power; the 1,000 largest weights of each item.

    R is what was liked, N how much each person did, D how much each item was.
    """
    liked = ratings.scale.liked(ratings.values) / ratings.scale.liked(ratings.values).max()
    shape = (ratings.n_users, ratings.n_items)
    rows = csr_array((liked, ratings.items, ratings.indptr), shape=shape, dtype=np.float32)
    counts = rows.sum(axis=0)
    items = 1.0 / np.sqrt(np.maximum(counts, 1.0))
    people = csr_array(rows * (1.0 / np.sqrt(np.maximum(rows.sum(axis=1), 1e-9)))[:, np.newaxis])
    weights = (people.T @ people).toarray() * items[:, np.newaxis] * (items * counts**power)
    np.fill_diagonal(weights, 0.0)
    bar = np.partition(weights, max(len(weights) - 1_000, 0), axis=0)[max(len(weights) - 1_000, 0)]
    weights[weights < bar] = 0.0
    table = csr_array(weights.astype(np.float32))
    side = ItemWeights(
        scale=ratings.scale,
        counts=counts.astype(np.float64),
        base=np.zeros(ratings.n_items),
        starts=table.indptr.astype(np.int64),
        others=table.indices.astype(np.int32),
        weights=table.data,
        together=table.data,
        mass=np.maximum(counts, 1.0).astype(np.float64),
        noise=0.0,
    )
    assert ratings.catalogue is not None
    return Model(side, ratings.catalogue, Statement.not_private("a yardstick"), "gf-cf")


def decompose(task: Task, console: Console) -> Comparison:
    """What the private error is made of: noise, too few rounds, and what the weighting leaves."""
    table = Comparison(dict.fromkeys(task.metrics, 4), title=f"{task.title}: where the error comes from")
    epsilon = task.epsilons[-1]
    plain = task.private().fit(task.train, Budget(epsilon, task.delta), rng=0)
    table.add(
        f"private, epsilon {epsilon:g}, rank {plain.rank_}, {plain.rounds_} rounds",
        **task.score(plain.model_),
    )
    for rounds in (plain.rounds_, 4 * plain.rounds_):
        quiet = task.private(rank=plain.rank_, rounds=rounds)
        quiet.fit(task.train, Budget(1000.0, task.delta), rng=0)
        table.add(
            f"the same without noise (epsilon 1000), {quiet.rounds_} rounds", **task.score(quiet.model_)
        )
    if task.yardstick:
        same = task.plain(rank=plain.rank_).fit(task.train, rng=0)
        table.add(f"non-private ALS of the same rank {plain.rank_}", **task.score(same.model_))
        free = task.plain().fit(task.train, rng=0)
        table.add(f"non-private ALS, rank {free.rank_}", **task.score(free.model_))
    console.print(table.to_rich())
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--decompose", action="store_true")
    options = parser.parse_args()
    console = Console()
    only = set(filter(None, options.only.split(",")))
    page, data = RESULTS / "accuracy.md", RESULTS / "accuracy.json"
    sections, record = _known(page, data) if only else ({}, {})
    for task in tasks(options.data, only):
        table = run(task, options.draws, console)
        lines = [f"## {task.title}\n", f"delta {task.delta:g}\n", table.to_markdown() + "\n"]
        lines += [task.published + "\n"] if task.published else []
        record[task.name] = {"delta": task.delta, "table": table.to_dict()}
        if options.decompose and task.rates:
            parts = decompose(task, console)
            lines += ["Where the error comes from:\n", parts.to_markdown() + "\n"]
            record[task.name]["decomposition"] = parts.to_dict()
        sections[task.title] = "\n".join(lines)
    head = "# Accuracy\n\nWritten by `python -m benchmarks.accuracy`: mean ± standard deviation over noise draws.\n"
    RESULTS.mkdir(exist_ok=True)
    page.write_text("\n".join([head, *sections.values()]))
    data.write_text(json.dumps(record, indent=2) + "\n")


def _known(page: Path, data: Path) -> tuple[dict[str, str], dict[str, dict]]:
    """Sections and records of an earlier run: with --only, what is not run again stays."""
    if not page.exists() or not data.exists():
        return {}, {}
    parts = page.read_text().split("\n## ")[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}, json.loads(data.read_text())


if __name__ == "__main__":
    main()
