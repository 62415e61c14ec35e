"""Time and memory of a private round from disk and in memory, for tables of growing size.

    python -m benchmarks.scale [--millions 1 3 10 30 100] [--rank 32] [--folder build/scale] [--memory-up-to 30]

The world is the skewed market read as clicks, 200 ratings a user and 20,000 items. It is written once to Parquet, a
slice of users at a time. Each measurement is a process of its own, so that its peak memory is its own: preparation,
then a run of two rounds, of which the slower one counts; and the same ratings in memory. Results go to
benchmarks/results/scale.json and scale.md; docs/scale.md says what they mean.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet import Budget, BudgetedALS, Catalogue, Ratings
from discreet.data.blocks import prepare
from discreet.data.checks import Columns
from discreet.data.rules import ROW_BY_ROW
from discreet.data.synthetic._market import MOST_SHARE, factors, items_of
from discreet.data.synthetic._popularity import activity, popularity
from discreet.data.synthetic._sampling import draw_weighted
from discreet.engines.choice import AnyRatings

RESULTS = Path(__file__).parent / "results"
# Large, so that no size is refused as hopeless; what a round takes does not depend on it.
BUDGET = Budget(epsilon=500.0, delta=1e-9)
N_ITEMS, PER_USER, LIFT = 20_000, 200, 1.0
SLICE = 25_000
COLUMNS = Columns("user", "item")


def catalogue() -> Catalogue:
    return items_of(N_ITEMS, N_ITEMS)


def write_market(folder: Path, ratings: int) -> None:
    """The skewed market as a folder of Parquet files, a slice of users in each, their rows in no order."""
    if (folder / "done").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng, users = np.random.default_rng(0), ratings // PER_USER
    counts = activity(users, ratings, max(1, int(MOST_SHARE * N_ITEMS)), rng)
    weights = rng.permutation(popularity(counts, N_ITEMS, LIFT))
    traits, ids = factors(N_ITEMS, rng), pl.Series(catalogue().ids.tolist())
    for number, start in enumerate(range(0, users, SLICE)):
        own = counts[start : start + SLICE]
        indptr = np.concatenate([[0], np.cumsum(own)])
        items = draw_weighted(rng, indptr, weights, factors(len(own), rng), traits, LIFT)
        order = rng.permutation(len(items))
        who = np.repeat(np.arange(start, start + len(own)) * 7919, own)[order]
        pl.DataFrame({"user": who, "item": ids[items[order]]}).write_parquet(folder / f"{number:05}.parquet")
    (folder / "done").touch()


def one(engine: str, source: Path, blocks: Path, rank: int) -> dict[str, Any]:
    """Read or prepare, and train two rounds."""
    started, ratings = time.perf_counter(), None
    pattern = str(source / "*.parquet")
    if engine == "disk":
        ratings = prepare(
            pattern, blocks, COLUMNS, rating_range=None, catalogue=catalogue(), rules=ROW_BY_ROW
        )
    else:
        ratings = Ratings.from_file(pattern, user="user", item="item", catalogue=catalogue())
    read, read_peak = time.perf_counter(), peak()
    times = rounds(ratings, rank)
    slowest = max(times[2:])
    return {
        "engine": engine,
        "users": ratings.n_users,
        "ratings": ratings.n_ratings,
        "read_seconds": read - started,
        "read_peak_mb": read_peak,
        "round_seconds": slowest[0],
        "round_cpu_seconds": slowest[1],
        "peak_mb": peak(),
    }


def rounds(ratings: AnyRatings, rank: int) -> list[tuple[float, float]]:
    """Seconds by the clock and of the processor for each release of a run of two rounds.

    A small run comes first, so that everything is compiled.
    """
    rng = np.random.default_rng(0)
    few = {"user": rng.integers(0, 200, 2_000), "item": rng.choice(catalogue().ids, 2_000)}
    small = Ratings.from_frame(few, user="user", item="item", catalogue=catalogue())
    BudgetedALS(rank=rank, rounds=2).fit(small, BUDGET, rng=0)
    times: list[tuple[float, float]] = []
    BudgetedALS(rank=rank, rounds=2).fit(
        ratings,
        BUDGET,
        rng=0,
        progress=lambda stage, done, total: times.append((time.perf_counter(), time.process_time())),
    )
    return [(after[0] - before[0], after[1] - before[1]) for before, after in itertools.pairwise(times)]


def peak() -> float:
    """Most memory this process has held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(engine: str, millions: float, rank: int, folder: Path) -> dict[str, Any]:
    """One measurement in a process of its own."""
    blocks = folder / f"blocks-{millions:g}"
    shutil.rmtree(blocks, ignore_errors=True)
    told = ["--one", engine, "--millions", f"{millions:g}", "--rank", str(rank), "--folder", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", *told], check=True, capture_output=True, text=True
    )
    shutil.rmtree(blocks, ignore_errors=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def table(results: list[dict[str, Any]], rank: int) -> str:
    lines = [
        "# Size: time and memory of a private round",
        "",
        f"Printed by `python -m benchmarks.scale`, rank {rank}, {os.cpu_count()} cores ({platform.machine()}). The "
        "skewed market as clicks, 200 ratings a user, 20,000 items. Seconds and MiB of one process each.",
        "",
        "| ratings | engine | read or prepare, s | peak, MiB | private round, s | of the processor, s | peak, MiB |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in results:
        lines.append(
            f"| {row['ratings']:,} | {row['engine']} | {row['read_seconds']:.1f} | {row['read_peak_mb']:.0f} | "
            f"{row['round_seconds']:.2f} | {row['round_cpu_seconds']:.2f} | {row['peak_mb']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 3, 10, 30, 100])
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument(
        "--memory-up-to", type=float, default=10, help="millions of ratings to hold in memory too"
    )
    parser.add_argument("--one", choices=["memory", "disk"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        (millions,) = given.millions
        source, blocks = given.folder / f"market-{millions:g}", given.folder / f"blocks-{millions:g}"
        print(json.dumps(one(given.one, source, blocks, given.rank)))
        return
    results = []
    for millions in given.millions:
        write_market(given.folder / f"market-{millions:g}", int(millions * 1e6))
        for engine in ("disk", "memory") if millions <= given.memory_up_to else ("disk",):
            results.append(measure(engine, millions, given.rank, given.folder))
            print(json.dumps(results[-1]), file=sys.stderr)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scale.json").write_text(json.dumps({"rank": given.rank, "results": results}, indent=1) + "\n")
    (RESULTS / "scale.md").write_text(table(results, given.rank))
    print(table(results, given.rank))


if __name__ == "__main__":
    main()
