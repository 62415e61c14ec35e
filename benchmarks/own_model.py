"""A silo's own model beside the federated one and one trained alone, on MovieLens 1M dealt out to five unequal silos.

    python benchmarks/own_model.py [--data FOLDER] [--draws 2] [--only ratings,lists]

A tenth of the ratings is for testing. In each draw the users are dealt out anew, the noise is fresh, and what is tested
is another tenth. All silos train together at epsilon 5 with the default method and the default number of honest silos;
each silo then refines what came out (``discreet.silos.refine``), or trains alone, without privacy and with it. Writes
``benchmarks/results/own_model.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console

import discreet
from discreet import ALS, Budget, BudgetedALS, Catalogue, Model, Ratings
from discreet.data import splits
from discreet.evaluation.comparison import Comparison
from discreet.evaluation.protocols import evaluate_ranking, evaluate_ratings

RESULTS = Path(__file__).parent / "results"
SIZES = {"A": 2_800, "B": 1_600, "C": 1_000, "D": 520, "E-light": 120}
EPSILON, DELTA = 5.0, 1e-6
GOALS: dict[str, Literal["rate", "rank"]] = {"ratings": "rate", "lists": "rank"}
COLUMNS = {
    "users": 0,
    "federated": 4,
    "alone, not private": 4,
    "alone, private": 4,
    "own": 4,
    "behind the better, %": 2,
}


def movielens(data: Path) -> Ratings:
    return Ratings.from_parquet(
        data / "ml-1m" / "ratings.parquet",
        user="user",
        item="item",
        rating="rating",
        rating_range=(1.0, 5.0),
        catalogue=Catalogue.from_file(data / "ml-1m" / "items.parquet"),
    )


def dealt_out(ratings: Ratings, seed: int) -> dict[str, tuple[Ratings, Ratings]]:
    """Training and test ratings of each silo."""
    train, test = splits.by_rating(ratings, (0.9, 0.1), rng=seed)
    order = np.random.default_rng(seed).permutation(ratings.n_users)
    ends = np.cumsum(list(SIZES.values()))
    assert ends[-1] == ratings.n_users
    rows = {
        name: np.sort(order[end - size : end]) for (name, size), end in zip(SIZES.items(), ends, strict=True)
    }
    return {name: (train.take_users(mine), test.take_users(mine)) for name, mine in rows.items()}


def score(model: Model, train: Ratings, test: Ratings) -> float:
    if model.goal == "rate":
        return evaluate_ratings(model, train, test).rmse
    return evaluate_ranking(model, train, test, 20).recall


def draw(
    ratings: Ratings, goal: Literal["rate", "rank"], seed: int
) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Of each silo its name, the way that its held-out ratings chose, and the scores on its test ratings."""
    parts, budget = dealt_out(ratings, seed), Budget(EPSILON, DELTA)
    trained = {name: train for name, (train, _) in parts.items()}
    federated = discreet.silos.fit(trained, budget, method=BudgetedALS(goal=goal), rng=seed).model_
    for name, (train, test) in parts.items():
        own = discreet.silos.refine(federated, train, rng=seed)
        models = {
            "federated": federated,
            "alone, not private": ALS(goal=goal).fit(train, rng=seed).model_,
            "alone, private": BudgetedALS(goal=goal).fit(train, budget, rng=seed).model_,
            "own": own.model_,
        }
        scores = {way: score(model, train, test) for way, model in models.items()}
        both = scores["federated"], scores["alone, not private"]
        behind = scores["own"] / min(both) - 1.0 if goal == "rate" else 1.0 - scores["own"] / max(both)
        yield name, own.way_, scores | {"users": train.n_users, "behind the better, %": 100.0 * behind}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    ratings, console = movielens(options.data), Console()
    page, data = RESULTS / "own_model.md", RESULTS / "own_model.json"
    only = set(filter(None, options.only.split(",")))
    record = json.loads(data.read_text()) if only and data.exists() else {}
    for what, goal in GOALS.items():
        if only and what not in only:
            continue
        measure = "RMSE" if goal == "rate" else "Recall@20"
        title = f"MovieLens 1M, {what}: {measure} of each silo's users"
        table, runs = Comparison(COLUMNS, title=title), []
        for seed in range(options.draws):
            for name, way, scores in draw(ratings, goal, seed):
                table.add(name, **scores)
                runs.append({"draw": seed, "silo": name, "way": way} | scores)
                console.print(runs[-1])
            found = {"title": title, "draws": seed + 1, "runs": runs}
            record[what] = found | {"table": table.to_dict(), "markdown": table.to_markdown()}
            data.write_text(json.dumps(record, indent=2) + "\n")
            page.write_text(written(record))
        console.print(table.to_rich())


def written(record: dict[str, Any]) -> str:
    head = "# A silo's own model\n\nWritten by `benchmarks/own_model.py`: five silos together at epsilon "
    head += f"{EPSILON:g}, delta {DELTA:g}; mean ± standard deviation over draws of users, test ratings and noise.\n"
    head += "`behind the better`: how much worse a silo's own model is than the better of federated and alone without\n"
    head += "privacy, below 0 where it beats both.\n"
    sections = [
        f"## {entry['title']}\n\n{entry['markdown']}\n\nDraws: {entry['draws']}. Chosen on held-out ratings: "
        + ", ".join(f"{run['silo']} {run['way']}" for run in entry["runs"])
        + ".\n"
        for entry in record.values()
    ]
    return "\n".join([head, *sections])


if __name__ == "__main__":
    main()
