"""What a Ray cluster of one machine costs over the disk engine, on the same blocks, in the same run.

    python -m benchmarks.cluster [--millions 30] [--rank 32] [--workers 2] [--folder build/scale]

The world is that of benchmarks/scale.py. Blocks are prepared once, and both engines train on them twice, in turn: four
rounds, of which the first two are left out (processes start, machine code is loaded), and the quickest of the others
counts, by the clock. As many processes as cores, one thread each, against one process with as many threads. The models
must be the same. Results go to benchmarks/results/cluster.json and cluster.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import ray

from benchmarks.scale import BUDGET, COLUMNS, RANGE, RECORD
from benchmarks.scale_market import catalogue, chosen_files, write_market
from discreet import BudgetedALS
from discreet.data import StoredRatings, prepare
from discreet.data.preparation import block_size
from discreet.data.rules import ROW_BY_ROW
from discreet.engines.cluster import Cluster
from discreet.privacy import Noise

ROUNDS, TURNS = 4, 2


def blocks_of(folder: Path, millions: int, workers: int) -> StoredRatings:
    """Written and grouped once; a small world in smaller blocks, so that every worker has some."""
    write_market(folder / "market", millions)
    return prepare(
        chosen_files(folder / "market", millions, folder / f"market-{millions}"),
        folder / f"cluster-blocks-{millions}-{workers}",
        COLUMNS,
        rating_range=RANGE,
        catalogue=catalogue(),
        rules=ROW_BY_ROW,
        block_ratings=min(block_size(len(catalogue())), millions * 1_000_000 // (4 * workers)),
    )


def one(ratings: StoredRatings, rank: int, engine: Cluster | None) -> tuple[float, str]:
    """Seconds of the quickest round, the first two left out; and the model's digest."""
    times: list[float] = []

    def report(stage: str, done: int, total: int) -> None:
        if stage == "training":
            times.append(time.perf_counter())

    noise = Noise.fixed_key_not_private("benchmark")
    method = BudgetedALS(rank=rank, rounds=ROUNDS)
    fitted = method.fit(ratings, BUDGET, rng=0, noise=noise, progress=report, engine=engine)
    rounds = [after - before for before, after in pairwise(times)][-ROUNDS:]
    return min(rounds[2:]), fitted.model_.digest


def measure(ratings: StoredRatings, rank: int, workers: int) -> dict[str, Any]:
    """Both engines in turn, connected to one cluster."""
    cluster = Cluster(workers=workers)
    seconds: dict[str, list[float]] = {"disk": [], "ray": []}
    digests = set()
    with cluster.connect():
        version = ray.__version__
        for _ in range(TURNS):
            for name, engine in (("disk", None), ("ray", cluster)):
                took, digest = one(ratings, rank, engine)
                seconds[name].append(took)
                digests.add(digest)
    if len(digests) != 1:
        raise SystemExit("the engines' models differ")
    disk, cost = min(seconds["disk"]), min(seconds["ray"])
    return {
        "ratings": ratings.n_ratings,
        "blocks": ratings.n_blocks,
        "workers": workers,
        "ray_version": version,
        "disk_seconds": disk,
        "ray_seconds": cost,
        "overhead": cost / disk - 1.0,
        "all_seconds": seconds,
    }


def table(results: list[dict[str, Any]], rank: int, load: float) -> str:
    lines = [
        "# Ray on one machine, over the disk engine",
        "",
        f"Printed by `python -m benchmarks.cluster`, rank {rank}, {os.cpu_count()} cores ({platform.machine()}), "
        f"load of the machine before the run {load:.1f}. Seconds of a private round by the clock, on the same blocks; "
        "the models are the same to the last bit.",
        "",
        "| ratings | blocks | workers | disk, s | Ray, s | overhead |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['ratings']:,} | {row['blocks']} | {row['workers']} | {row['disk_seconds']:.2f} | "
        f"{row['ray_seconds']:.2f} | {row['overhead']:+.0%} |"
        for row in results
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=int, nargs="+", default=[30])
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    given = parser.parse_args()
    load = os.getloadavg()[0]
    results = [
        measure(blocks_of(given.folder, millions, given.workers), given.rank, given.workers)
        for millions in given.millions
    ]
    told = {"rank": given.rank, "load": load, "results": results}
    RECORD.with_name("cluster.json").write_text(json.dumps(told, indent=1) + "\n")
    RECORD.with_name("cluster.md").write_text(table(results, given.rank, load))
    print(table(results, given.rank, load))


if __name__ == "__main__":
    main()
