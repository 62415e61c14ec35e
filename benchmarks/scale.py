"""Time and memory of a private round from disk and in memory, for tables of growing size.

    python -m benchmarks.scale [--sizes 1,3,10,30,100] [--folder build/scale] [--rank 32] [--memory-up-to 10] [--again]
    python -m benchmarks.scale --sizes 1000          # a billion: once, on a machine with the disk for it

The world is the skewed market, 200 ratings a user and 20,000 items (`benchmarks/scale_market.py`),
written once to Parquet; sizes are in millions of ratings. Each measurement is a process of its own, so that its peak
memory is its own: preparation; a run of two rounds from the blocks, of which the slower one counts; the same ratings in
memory; and a round over a million items, for what a round takes whatever the ratings are. What was measured is kept in
benchmarks/results/scale.json as soon as it is there, and not measured again: an interrupted run goes on, and sizes can
be run in pieces. Then scale.md, with a size calculated from these rates, and docs/images/scale.svg are written from it.

Disk that it takes: 4 bytes a rating for the market, and for one size at a time 12 in runs and 5 in blocks: 2 GB at 100
million, 20 GB at a billion.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale_market import catalogue, chosen_files, write_market
from benchmarks.scale_page import draw, on_paper, table
from discreet import Budget, BudgetedALS, Catalogue, Ratings
from discreet.catalogue.columns import Columns
from discreet.data import StoredRatings, prepare
from discreet.data.rules import ROW_BY_ROW
from discreet.engines.choice import AnyRatings

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "benchmarks" / "results" / "scale.json"
# Large, so that no size is refused as hopeless; what a round takes does not depend on it.
BUDGET = Budget(epsilon=500.0, delta=1e-9)
MANY_ITEMS = 1_000_000
COLUMNS, RANGE = Columns("user", "item", "rating"), (1.0, 5.0)
Measured = dict[str, Any]


def preparation(folder: Path, millions: int, rank: int) -> Measured:
    """Group the market by user."""
    source = chosen_files(folder / "market", millions, folder / f"market-{millions}")
    blocks = folder / f"blocks-{millions}"
    started = (time.perf_counter(), time.process_time())
    ratings = prepare(source, blocks, COLUMNS, rating_range=RANGE, catalogue=catalogue(), rules=ROW_BY_ROW)
    return {
        "users": ratings.n_users,
        "ratings": ratings.n_ratings,
        "table_bytes": sum(file.stat().st_size for file in (folder / f"market-{millions}").iterdir()),
        "blocks_bytes": sum(file.stat().st_size for file in blocks.glob("block-*")),
        "read_seconds": time.perf_counter() - started[0],
        "read_cpu_seconds": time.process_time() - started[1],
        "read_peak_mb": peak(),
    }


def from_disk(folder: Path, millions: int, rank: int) -> Measured:
    """Rounds from the blocks that `preparation` left."""
    return rounds(StoredRatings.open(folder / f"blocks-{millions}", catalogue()), rank)


def in_memory(folder: Path, millions: int, rank: int) -> Measured:
    """Read whole, and train."""
    source = chosen_files(folder / "market", millions, folder / f"market-{millions}")
    started = (time.perf_counter(), time.process_time())
    ratings = Ratings.from_file(source, **COLUMNS._asdict(), rating_range=RANGE, catalogue=catalogue())
    read = {
        "users": ratings.n_users,
        "ratings": ratings.n_ratings,
        "read_seconds": time.perf_counter() - started[0],
        "read_cpu_seconds": time.process_time() - started[1],
        "read_peak_mb": peak(),
    }
    return read | rounds(ratings, rank)


def many_items(folder: Path, millions: int, rank: int) -> Measured:
    """A round over many items that hardly anybody chose."""
    items, rng = Catalogue(np.arange(MANY_ITEMS)), np.random.default_rng(0)
    rows = {"user": rng.integers(0, 5_000, 200_000), "item": rng.integers(0, MANY_ITEMS, 200_000)}
    rows["rating"] = rng.integers(1, 6, 200_000)
    ratings = Ratings.from_frame(rows, **COLUMNS._asdict(), rating_range=RANGE, catalogue=items)
    before = peak()
    return {"items": MANY_ITEMS, "before_mb": before, **rounds(ratings, rank)}


KINDS: dict[str, Callable[[Path, int, int], Measured]] = {
    "prepare": preparation,
    "disk": from_disk,
    "memory": in_memory,
    "items": many_items,
}


def rounds(ratings: AnyRatings, rank: int) -> Measured:
    """The slower round of a run of two. A small run comes first, so that everything is compiled."""
    rng = np.random.default_rng(0)
    few = {"user": rng.integers(0, 200, 2_000), "item": rng.choice(catalogue().ids, 2_000)}
    few["rating"] = rng.integers(1, 6, 2_000)
    small = Ratings.from_frame(few, **COLUMNS._asdict(), rating_range=RANGE, catalogue=catalogue())
    started = (time.perf_counter(), time.process_time())
    BudgetedALS(rank=rank, rounds=2).fit(small, BUDGET, rng=0)
    warm = (time.perf_counter() - started[0], time.process_time() - started[1])
    times: list[tuple[float, float]] = []
    BudgetedALS(rank=rank, rounds=2).fit(
        ratings,
        BUDGET,
        rng=0,
        progress=lambda stage, done, total: times.append((time.perf_counter(), time.process_time())),
    )
    took = [(after[0] - before[0], after[1] - before[1]) for before, after in itertools.pairwise(times)]
    seconds, cpu = max(took[2:])
    return {
        "warm_seconds": warm[0],
        "warm_cpu_seconds": warm[1],
        "round_seconds": seconds,
        "round_cpu_seconds": cpu,
        "peak_mb": peak(),
    }


def peak() -> float:
    """Most memory this program has held, in MiB; what getrusage says may be that of the process that started it."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    known = [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")]
    return known[0] if known else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind: str, folder: Path, millions: int, rank: int) -> Measured:
    """One measurement in a process of its own."""
    told = ["--one", kind, "--sizes", str(millions), "--rank", str(rank), "--folder", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", *told], check=True, stdout=subprocess.PIPE, text=True
    )
    result: Measured = json.loads(done.stdout.splitlines()[-1])
    print(millions, kind, json.dumps(result), file=sys.stderr)
    return result


def measure_size(folder: Path, millions: int, rank: int, *, with_memory: bool) -> list[Measured]:
    """From disk, and in memory where it is to be."""
    write_market(folder / "market", millions)
    blocks = folder / f"blocks-{millions}"
    shutil.rmtree(blocks, ignore_errors=True)
    disk = measure("prepare", folder, millions, rank) | measure("disk", folder, millions, rank)
    shutil.rmtree(blocks)
    rows = [{"engine": "disk", "millions": millions, **disk}]
    if with_memory:
        memory = measure("memory", folder, millions, rank)
        rows.append({"engine": "memory", "millions": millions, **memory})
    return rows


def known(rank: int) -> dict[str, Any]:
    """What was measured already, at this rank and on a machine like this one."""
    machine = {"cores": os.cpu_count(), "machine": platform.machine()}
    record: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
    if (record.get("rank"), record.get("machine")) != (rank, machine):
        record = {"rank": rank, "machine": machine, "results": []}
    return record


def keep(record: dict[str, Any]) -> None:
    """The record, and every page that is made from it."""
    record["results"].sort(key=lambda row: (row["millions"], row["engine"]))
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    RECORD.with_suffix(".md").write_text(table(record) + on_paper(record))
    draw(record, ROOT / "docs" / "images" / "scale.svg")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1,3,10,30,100", help="millions of ratings")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument(
        "--memory-up-to", type=int, default=10, help="millions of ratings to hold in memory too"
    )
    parser.add_argument("--again", action="store_true", help="measure these sizes anew")
    parser.add_argument("--one", choices=KINDS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",") if size]
    if given.one is not None:
        print(json.dumps(KINDS[given.one](given.folder, sizes[0], given.rank)))
        return
    record = known(given.rank)
    if given.again:
        record["results"] = [row for row in record["results"] if row["millions"] not in sizes]
        record.pop("items", None)
    for millions in sizes:
        if not any(row["millions"] == millions for row in record["results"]):
            with_memory = millions <= given.memory_up_to
            record["results"] += measure_size(given.folder, millions, given.rank, with_memory=with_memory)
            keep(record)
    if "items" not in record:
        record["items"] = measure("items", given.folder, 1, given.rank)
    keep(record)
    print(table(record))


if __name__ == "__main__":
    main()
