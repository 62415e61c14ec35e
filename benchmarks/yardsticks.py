"""How near the defaults of plain ALS are to its best settings, and what DPALS' presets reach beside the user mean.

    python -m benchmarks.yardsticks [--data FOLDER] [--trials 25] [--only ml-1m,jester,...] [--keep-search]

The data sets are those of ``accuracy.py``, and two more, split 90/10 by rating: goodbooks' ratings, and all ratings of
MovieLens 1M as clicks. On each, the defaults (mean of three seeds) stand beside the best
of a random search, which is judged on the test itself and so flatters the search. Data sets without files are left out.
With --only the other data sets keep what an earlier run wrote; with --keep-search a data set's search is kept too, and
the defaults alone are run. Writes ``benchmarks/results/yardsticks.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import accuracy
from benchmarks.accuracy import RESULTS, Task
from discreet import ALS, DPALS, Budget, Catalogue, Ratings
from discreet.data import splits
from discreet.evaluation import evaluate_ratings

Record = dict[str, Any]

SEEDS = (0, 1, 2)
UNUSED = 10_000
PRESETS = ("ml-10m-eps-1", "ml-10m-eps-5", "ml-10m-eps-20")


def tasks(data: Path, only: set[str]) -> Iterator[tuple[str, Task]]:
    makers: dict[str, Callable[[], Task]] = {
        "ml-1m": lambda: accuracy.movielens(data),
        "goodbooks": lambda: by_rating(data, "goodbooks", explicit=True),
        "jester": lambda: accuracy.jester(data),
        "market": accuracy.market,
        "low-rank-5000": lambda: accuracy.low_rank(5_000),
        "ml-1m-clicks": lambda: accuracy.clicks(data, "ml-1m"),
        "goodbooks-clicks": lambda: accuracy.clicks(data, "goodbooks"),
        "market-clicks": accuracy.market_clicks,
        "jester-clicks": lambda: accuracy.jester_clicks(data),
        "ml-1m-all-clicks": lambda: by_rating(data, "ml-1m", explicit=False),
    }
    for name, make in makers.items():
        if only and name not in only:
            continue
        try:
            yield name, make()
        except FileNotFoundError as error:
            print(f"{name}: left out, {error.filename} is not there")


def by_rating(data: Path, name: str, *, explicit: bool) -> Task:
    """90/10 by rating."""
    for path in (data / name / "ratings.parquet", data / name / "items.parquet"):
        if not path.exists():
            raise FileNotFoundError(2, "no such file", str(path))
    frame = pl.read_parquet(data / name / "ratings.parquet")
    items = Catalogue(pl.read_parquet(data / name / "items.parquet")["item"])
    reading: Any = {"rating": "rating", "rating_range": (1.0, 5.0)} if explicit else {}
    ratings = Ratings.from_frame(frame, user="user", item="item", catalogue=items, **reading)
    train, test = splits.by_rating(ratings, (0.9, 0.1), rng=0)
    title = f"{name}, {'ratings' if explicit else 'all ratings as clicks'}, 90/10 by rating"
    return Task(name, title, train, train, test, 1e-5, (1.0,))


def draw(rng: np.random.Generator, task: Task) -> dict[str, Any]:
    """Random settings; penalties are drawn as those of a row with 50 ratings, whatever the exponent."""
    exponent = float(rng.choice([0.0, 0.5, 0.5, 1.0]))
    row = 50.0**exponent
    if not task.rates:
        train = task.train
        share = train.n_ratings / train.n_users / _items_in_use(train)
        return {
            "rank": int(rng.choice([8, 16, 32, 64, 128])),
            "rounds": 8,
            "penalty": _log_uniform(rng, 0.5, 15.0) / row,
            "count_exponent": exponent,
            "gravity": _log_uniform(rng, 0.7, 20.0) * share,
        }
    quiet = task.name.startswith("low-rank")
    return {
        "rank": int(rng.choice([5, 16, 32] if quiet else [4, 8, 16, 32, 64])),
        "rounds": 30 if quiet else 12,
        "penalty": _log_uniform(rng, *((1e-3, 0.3) if quiet else (3.0, 25.0))) / row,
        "offset_penalty": _log_uniform(rng, *((1e-3, 10.0) if quiet else (0.5, 10.0))) / row,
        "count_exponent": exponent,
    }


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _items_in_use(ratings: Ratings) -> float:
    shares = np.bincount(ratings.items, minlength=ratings.n_items) / ratings.n_ratings
    return float(1.0 / (shares**2).sum())


def search(task: Task, trials: int) -> Record:
    """The best of some random settings, judged on the test."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(trials):
        settings = draw(rng, task)
        found.append((_score(task, ALS(**settings).fit(task.train, rng=0)), settings))
    found.sort(key=lambda one: one[0] if task.rates else -one[0])
    return {"score": found[0][0], "settings": found[0][1], "trials": trials}


def defaults(task: Task) -> Record:
    """Plain ALS as it comes."""
    scores, start = [], time.perf_counter()
    for seed in SEEDS:
        fitted = ALS().fit(task.train, rng=seed)
        scores.append(_score(task, fitted))
    seconds = (time.perf_counter() - start) / len(SEEDS)
    record = {
        "score": float(np.mean(scores)),
        "spread": float(np.std(scores, ddof=1)),
        "rank": fitted.rank_,
        "seconds": seconds,
    }
    if not task.rates:
        record["unused"] = _with_unused_items(task)
    return record


def _with_unused_items(task: Task) -> float:
    """The defaults' score, first seed, where the catalogue has some thousand items more that nobody uses."""
    assert task.train.catalogue is not None
    known = np.asarray(task.train.catalogue.ids).tolist()
    new = [
        f"unused-{number}" if isinstance(known[0], str) else max(known) + 1 + number
        for number in range(UNUSED)
    ]
    more = Catalogue([*known, *new])
    train, history, test = (part.with_catalogue(more) for part in (task.train, task.history, task.test))
    wide = Task(task.name, task.title, train, history, test, task.delta, task.epsilons)
    return _score(wide, ALS().fit(train, rng=SEEDS[0]))


def _score(task: Task, fitted: ALS) -> float:
    return next(iter(task.score(fitted.model_).values()))


def presets(data: Path, draws: int = 3) -> list[Record]:
    """DPALS as its paper sets it, on MovieLens 1M, fold 5 held out."""
    task = accuracy.movielens(data)
    rows = []
    for name in PRESETS:
        epsilon = float(name.rpartition("-")[2])
        scores = [
            evaluate_ratings(
                DPALS.from_preset(name).fit(task.train, Budget(1.5 * epsilon, 1e-5), rng=seed).model_,
                task.history,
                task.test,
            )
            for seed in range(draws)
        ]
        errors = [one.rmse for one in scores]
        rows.append(
            {
                "preset": name,
                "rmse": float(np.mean(errors)),
                "spread": float(np.std(errors, ddof=1)),
                "user_mean": scores[0].user_mean_rmse,
            }
        )
    return rows


def page(record: Record) -> str:
    lines = [
        "# Yardsticks",
        "",
        "Written by `benchmarks/yardsticks.py`. Plain ALS: RMSE of ratings (lower is better), Recall@20 of clicks",
        "(higher is better); the defaults (mean ± standard deviation over three seeds) beside the best of a random",
        "search that saw the test. *Worse by* is negative where the defaults beat the search.",
        "",
        "| data | defaults | rank | seconds | best of search | worse by | its settings |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in record.get("als", {}).items():
        mine, best = one["defaults"], one["search"]
        worse = (mine["score"] / best["score"] - 1.0) * (1.0 if one["explicit"] else -1.0)
        settings = ", ".join(f"{key} {value:.3g}" for key, value in best["settings"].items())
        lines.append(
            f"| {name} | {mine['score']:.4f} ± {mine['spread']:.4f} | {mine['rank']} | {mine['seconds']:.0f} | "
            f"{best['score']:.4f} of {best['trials']} | {100 * worse:+.2f} % | {settings} |"
        )
    lines += ["", f"Clicks with {UNUSED:,} items more in the catalogue that nobody uses, first seed:", ""]
    for name, one in record.get("als", {}).items():
        if "unused" in one["defaults"]:
            lines.append(f"- {name}: Recall@20 {one['defaults']['unused']:.4f}")
    if "dpals" in record:
        lines += [
            "",
            "## DPALS' presets on MovieLens 1M, fold 5 held out",
            "",
            "The presets were tuned by their authors for ten times as many users.",
            "",
            "| preset | RMSE | user mean (free) |",
            "|---|---|---|",
        ]
        for row in record["dpals"]:
            lines.append(
                f"| {row['preset']} | {row['rmse']:.4f} ± {row['spread']:.4f} | {row['user_mean']:.4f} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--only", default="", help="names of data sets, and dpals")
    parser.add_argument("--keep-search", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    for name, task in tasks(options.data, only):
        known = _known(options.out).get("als", {}).get(name, {})
        found = known["search"] if options.keep_search and known else search(task, options.trials)
        one = {"explicit": task.rates, "defaults": defaults(task), "search": found}
        print(name, json.dumps(one))
        _store(
            options.out, lambda record, name=name, one=one: record.setdefault("als", {}).update({name: one})
        )
    if (not only or "dpals" in only) and (options.data / "ml-1m").exists():
        rows = presets(options.data)
        _store(options.out, lambda record: record.update(dpals=rows))


def _known(folder: Path) -> Record:
    data = folder / "yardsticks.json"
    return json.loads(data.read_text()) if data.exists() else {}


def _store(folder: Path, change: Callable[[Record], Any]) -> None:
    """After every data set, so that an interrupted run keeps what it has."""
    folder.mkdir(exist_ok=True)
    record = _known(folder)
    change(record)
    (folder / "yardsticks.json").write_text(json.dumps(record, indent=2) + "\n")
    (folder / "yardsticks.md").write_text(page(record))


if __name__ == "__main__":
    main()
