"""Lists of a task on devices: Recall@10 on markets of 70,000 users and on MovieLens 1M, beside what costs nothing.

    python benchmarks/device_lists.py [--data FOLDER] [--draws 2]       (some five minutes on one core)

A tenth of the ratings is held out. ``rate`` is the default task, ``rank`` the one for lists. Beside them: the first
items of the catalogue, which are free, and the order by true popularity, which nothing private can know. Writes
``benchmarks/results/device_lists.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet import Catalogue, Ratings
from discreet.data import splits
from discreet.data.synthetic import market
from discreet.devices import fit
from discreet.evaluation import evaluate_ranking, metrics

RESULTS = Path(__file__).parent / "results"
USERS, PER_USER, AT = 70_000, 28, 10
ITEMS, EPSILON = (500, 700, 800, 900, 1_000), 4.0
BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
GOALS: tuple[Literal["rate", "rank"], ...] = ("rate", "rank")


def movielens(data: Path) -> Ratings:
    return Ratings.from_parquet(
        data / "ml-1m" / "ratings.parquet",
        user="user",
        item="item",
        rating="rating",
        rating_range=(1.0, 5.0),
        catalogue=Catalogue.from_file(data / "ml-1m" / "items.parquet"),
    )


def by_catalogue(train: Ratings, test: Ratings) -> float:
    """Recall of the first items of the catalogue that a person does not have."""
    lists = np.full((train.n_users, AT), -1, dtype=np.int32)
    for user in range(train.n_users):
        own = set(train.items[train.indptr[user] : train.indptr[user + 1]].tolist())
        lists[user] = [item for item in range(len(own) + AT) if item not in own][:AT]
    found = metrics.recalls(lists, test.indptr, test.items, AT)
    return float(found.sum() / (np.diff(test.indptr) > 0).sum())


def measured(ratings: Ratings, epsilon: float, seed: int) -> dict[str, float]:
    train, test = splits.by_rating(ratings, (0.9, 0.1), rng=seed)
    found: dict[str, float] = {"catalogue": by_catalogue(train, test)}
    for goal in GOALS:
        scores = evaluate_ranking(fit(train, epsilon, goal=goal, rng=seed).model_, train, test, AT)
        found |= {goal: scores.recall, "popularity": scores.popularity_recall}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=2)
    options = parser.parse_args()
    runs: list[dict[str, Any]] = []
    films = movielens(options.data)
    worlds = [("market", items, EPSILON) for items in ITEMS] + [("ml-1m", films.n_items, e) for e in BUDGETS]
    for world, items, epsilon in worlds:
        ratings = films if world == "ml-1m" else market(USERS, items, PER_USER * USERS, rng=1)
        for seed in range(options.draws):
            told = {"world": world, "items": items, "epsilon": epsilon, "draw": seed}
            runs.append(told | measured(ratings, epsilon, seed))
            print(runs[-1], flush=True)
            (RESULTS / "device_lists.json").write_text(json.dumps(runs, indent=2) + "\n")
            (RESULTS / "device_lists.md").write_text(written(runs))


def written(runs: list[dict[str, Any]]) -> str:
    head = [
        "# Lists on devices",
        "",
        "Written by `benchmarks/device_lists.py`: Recall@10, a tenth of the ratings held out, one number for each draw",
        "of test ratings and coins. `rate` is the default task, `rank` the one for lists; the first ten items of the",
        "catalogue are free, and the order by true popularity is not private.",
    ]
    columns = "epsilon | catalogue | rate | rank | true popularity |\n|---|---|---|---|---|---|"
    sections = {
        "market": f"## Markets of {USERS:,} users, {PER_USER} ratings each",
        "ml-1m": "## MovieLens 1M, 6,040 users",
    }
    for world, title in sections.items():
        rows = {(run["items"], run["epsilon"]): None for run in runs if run["world"] == world}
        head += ["", title, "", f"| items | {columns}"] if rows else []
        for items, epsilon in rows:
            same = [
                run for run in runs if (run["world"], run["items"], run["epsilon"]) == (world, items, epsilon)
            ]
            cells = (
                ", ".join(f"{run[what]:.4f}" for run in same)
                for what in ("catalogue", "rate", "rank", "popularity")
            )
            head.append(f"| {items:,} | {epsilon:g} | {' | '.join(cells)} |")
    return "\n".join([*head, ""])


if __name__ == "__main__":
    main()
