"""New items: a tenth of the films held out of training altogether, then added from their features.

    python -m benchmarks.new_items [--data FOLDER] [--draws 5]

MovieLens 1M with genres and titles. Ratings of the new films, which no training saw, are predicted and ranked for the
people who gave them, from their other ratings. RMSE beside each person's own mean; AUC among the new films (0.5 is a
random order) of those that a person rated against those not; Recall@20 beside a random order. Defaults only. Writes
``benchmarks/results/new_items.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.accuracy import RESULTS, _read
from benchmarks.comparison import Comparison
from discreet import Budget, BudgetedALS, Catalogue, Ratings
from discreet.model import Model

FEATURES = "genres,title"


class World:
    """Old films to train on, and new ones with the ratings that people gave them."""

    def __init__(self, data: Path, seed: int) -> None:
        frame, items = _read(data / "ml-1m" / "ratings.parquet"), _read(data / "ml-1m" / "items.parquet")
        ids = np.array(items["item"])
        self.new = np.sort(np.random.default_rng(seed).choice(ids, len(ids) // 10, replace=False))
        fresh = pl.col("item").is_in(self.new.tolist())
        self.columns = items.filter(fresh)
        self.new = np.array(self.columns["item"])
        reading = {"user": "user", "item": "item", "rating": "rating", "rating_range": (1.0, 5.0)}
        described = items.filter(~fresh)
        old = Catalogue(
            described["item"], features={name: described[name].to_list() for name in FEATURES.split(",")}
        )
        self.train = Ratings.from_frame(frame.filter(~fresh), catalogue=old, **reading)
        people = {user: row for row, user in enumerate(self.train.user_ids.tolist())}
        asked = frame.filter(fresh).filter(pl.col("user").is_in(list(people)))
        place = {item: column for column, item in enumerate(self.new.tolist())}
        self.rows = np.array([people[user] for user in asked["user"]])
        self.places = np.array([place[item] for item in asked["item"]])
        self.values = np.array(asked["rating"], dtype=float)

    def extended(self, model: Model) -> Model:
        return model.with_items(
            self.new.tolist(), {name: self.columns[name].to_list() for name in FEATURES.split(",")}
        )

    def scores(self, model: Model) -> np.ndarray:
        """People x new films."""
        side, train = self.extended(model).item_side, self.train
        coefficients = side.fold_in(train.indptr, train.items, train.values)
        new = np.arange(side.n_items - len(self.new), side.n_items)
        raw = side.centre + side.offsets[new] + coefficients @ side.design[new].T
        return side.clipped(raw)

    def rmse(self, scores: np.ndarray) -> float:
        return float(np.sqrt(np.square(scores[self.rows, self.places] - self.values).mean()))

    def own_means(self) -> np.ndarray:
        sums = np.add.reduceat(self.train.values, self.train.indptr[:-1])
        return np.repeat((sums / np.diff(self.train.indptr))[:, None], len(self.new), axis=1)

    def ranking(self, scores: np.ndarray) -> dict[str, float]:
        """AUC and Recall@20 of what a person rated among the new films, mean over people."""
        rated = np.zeros(scores.shape, dtype=bool)
        rated[self.rows, self.places] = True
        people = np.flatnonzero(rated.any(axis=1) & ~rated.all(axis=1))
        aucs, recalls = [], []
        for person in people:
            mine, ranks = rated[person], rankdata(scores[person])
            n = int(mine.sum())
            aucs.append((ranks[mine].sum() - n * (n + 1) / 2) / (n * (len(mine) - n)))
            best = np.argsort(-scores[person], kind="stable")[:20]
            recalls.append(mine[best].sum() / min(n, 20))
        return {"AUC": float(np.mean(aucs)), "Recall@20": float(np.mean(recalls))}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    title = "MovieLens 1M, a tenth of the films added after training from genres and title"
    table = Comparison({"RMSE": 4, "AUC": 3, "Recall@20": 3}, title=title)
    for draw in range(options.draws):
        world = World(options.data, draw)
        table.add("user mean (free)", RMSE=world.rmse(world.own_means()))
        shuffled = np.random.default_rng(draw).random((world.train.n_users, len(world.new)))
        table.add("random order", **world.ranking(shuffled))
        for epsilon in (1.0, 5.0, 20.0):
            budget = Budget(epsilon, 1e-5)
            scores = world.scores(BudgetedALS().fit(world.train, budget, rng=draw).model_)
            table.add(f"epsilon {epsilon:g}", **world.ranking(scores), RMSE=world.rmse(scores))
        _write(table, title)
        print(f"draw {draw + 1} of {options.draws}", flush=True)
    Console().print(table.to_rich())


def _write(table: Comparison, title: str) -> None:
    head = "# New items\n\nWritten by `benchmarks/new_items.py`: mean ± standard deviation over films and noise.\n"
    (RESULTS / "new_items.md").write_text(f"{head}\n## {title}\n\n{table.to_markdown()}\n")
    (RESULTS / "new_items.json").write_text(json.dumps(table.to_dict(), indent=2) + "\n")


if __name__ == "__main__":
    main()
