"""Lists: time and memory of a private fit beside EASE without privacy, of lists for everybody, and from disk.

    python -m benchmarks.list_speed [--heads 3000,6000] [--disk-millions 100] [--folder build/scale] [--repeats 3]

- **fit**: `discreet.EASE` at epsilon 20 beside plain EASE in NumPy (sparse product, inverse, division) on the same
  head and ratings, in turns: 60,000 users, 7.5 million clicks of the skewed market.
- **lists**: 20 items for each of the 60,000, beside the product of the same two sparse matrices alone.
- **disk**: pairs from prepared blocks with a head of 6,000, beside merely reading the blocks.

Each row is a process of its own, so that its peak of memory is its own. Writes
``benchmarks/results/list_speed.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.scale import peak
from benchmarks.scale_market import catalogue, chosen_files, write_market
from discreet import EASE, Budget, Ratings
from discreet.catalogue.columns import Columns
from discreet.data import StoredRatings, prepare, synthetic
from discreet.data.rules import ROW_BY_ROW
from discreet.methods.ease.public.head import choose_head
from discreet.types import Floats

RESULTS = Path(__file__).parent / "results"
USERS, ITEMS, CLICKS = 60_000, 12_000, 7_500_000
BUDGET = Budget(epsilon=20.0, delta=1e-6)
Measured = dict[str, Any]


def world() -> Ratings:
    rated = synthetic.market(USERS, ITEMS, CLICKS, rng=0)
    ones = np.ones(rated.n_ratings)
    return Ratings.from_arrays(rated.indptr, rated.items, ones, catalogue=rated.catalogue, rating_range=None)


def fit(head: int, repeats: int) -> Measured:
    """Seconds of a private fit and of plain EASE on the same head, in turns; the peak is of the first private one."""
    ratings = world()
    _warm()
    _whole_head(head)
    before = peak()
    private, plain, size, most = [], [], 0, 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        model = EASE(head=head, keep_sums=False).fit(ratings, BUDGET, rng=0).model_
        private.append(time.perf_counter() - start)
        most = most or peak()
        items = np.flatnonzero(np.diff(model.item_side.starts))
        size = len(items)
        start = time.perf_counter()
        plain_ease(ratings, items)
        plain.append(time.perf_counter() - start)
    return {
        "head": size,
        "private": statistics.median(private),
        "plain": statistics.median(plain),
        "before_mb": before,
        "peak_mb": most,
    }


def plain_ease(ratings: Ratings, items: Floats) -> Floats:
    """EASE as its paper writes it, in NumPy."""
    rows = csr_array(
        (np.ones(ratings.n_ratings, np.float32), ratings.items, ratings.indptr), shape=(USERS, ITEMS)
    )[:, items]
    gram = (rows.T @ rows).toarray()
    gram[np.diag_indices_from(gram)] += 500.0
    inverse = np.linalg.inv(gram)
    weights: Floats = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def lists(head: int, repeats: int) -> Measured:
    """Lists of 20 for everybody, and the sparse product that scores them."""
    ratings = world()
    _warm()
    _whole_head(head)
    model = EASE(head=head, keep_sums=False).fit(ratings, BUDGET, rng=0).model_
    side = model.item_side
    shape = (ITEMS, ITEMS)
    table = csr_array((side.weights, side.others, side.starts), shape=shape)
    rows = csr_array(
        (np.ones(ratings.n_ratings, np.float32), ratings.items, ratings.indptr), shape=(USERS, ITEMS)
    )
    product, ours = [], []
    model.recommend_batch(ratings.take_users(slice(0, 100)), 20)
    for _ in range(repeats):
        start = time.perf_counter()
        for first in range(0, USERS, 2_000):  # in blocks, as whoever needs lists would
            rows[first : first + 2_000] @ table
        product.append(time.perf_counter() - start)
        start = time.perf_counter()
        model.recommend_batch(ratings, 20)
        ours.append(time.perf_counter() - start)
    return {"lists": statistics.median(ours), "product": statistics.median(product), "peak_mb": peak()}


def disk(millions: int, folder: Path) -> Measured:
    """A fit from prepared blocks, and merely reading them."""
    blocks = folder / f"list-blocks-{millions}"
    write_market(folder / "market", millions)
    if not blocks.exists():
        source = chosen_files(folder / "market", millions, folder / f"market-{millions}")
        columns = Columns("user", "item", None)
        prepare(source, blocks, columns, rating_range=None, catalogue=catalogue(), rules=ROW_BY_ROW)
    return json.loads(_process("blocks", millions, 1, folder))


def from_blocks(millions: int, folder: Path) -> Measured:
    ratings = StoredRatings.open(folder / f"list-blocks-{millions}", catalogue())
    _warm()
    _whole_head(6_000)
    start = time.perf_counter()
    count = sum(block.n_ratings for block in ratings.blocks())
    read = time.perf_counter() - start
    start = time.perf_counter()
    model = EASE(head=6_000, keep_sums=False).fit(ratings, BUDGET, rng=0).model_
    took = time.perf_counter() - start
    head = int(np.count_nonzero(np.diff(model.item_side.starts)))
    return {"ratings": count, "head": head, "read": read, "fit": took, "peak_mb": peak()}


def _warm() -> None:
    """A small run, so that everything is compiled."""
    small = synthetic.market(500, 200, 10_000, rng=0)
    EASE().fit(small, BUDGET).model_.recommend_batch(small, 20)


def _whole_head(size: int) -> None:
    """Take as many items as may be, whatever the rule says, so that times are of heads of this size."""
    choose_head.__defaults__ = (size,)


def _process(kind: str, size: int, repeats: int, folder: Path) -> str:
    command = [sys.executable, "-m", "benchmarks.list_speed", "--measure", f"{kind}:{size}"]
    command += ["--repeats", str(repeats), "--folder", str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--heads", default="3000,6000")
    parser.add_argument("--disk-millions", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        kind, _, size = options.measure.partition(":")
        one = {
            "fit": lambda: fit(int(size), options.repeats),
            "lists": lambda: lists(int(size), options.repeats),
            "disk": lambda: disk(int(size), options.folder),
            "blocks": lambda: from_blocks(int(size), options.folder),
        }[kind]
        print(json.dumps(one()))
        return
    stored = RESULTS / "list_speed.json"
    record: dict[str, Measured] = json.loads(stored.read_text()) if stored.exists() else {}
    sizes = [("fit", int(head)) for head in options.heads.split(",")]
    sizes += [("lists", 3_000), ("disk", options.disk_millions)]
    for kind, size in sizes:
        if size:
            record[f"{kind}:{size}"] = json.loads(_process(kind, size, options.repeats, options.folder))
            print(kind, size, record[f"{kind}:{size}"], flush=True)
    stored.write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / "list_speed.md").write_text("\n".join(page(record)) + "\n")


def page(record: dict[str, Measured]) -> list[str]:
    lines = [
        "# Lists: time and memory\n",
        f"Printed by `python -m benchmarks.list_speed`, on {platform.machine()}. Seconds and MiB. {USERS:,} users, "
        f"{CLICKS / 1e6:g} million clicks.\n",
        "| what | private | without privacy | times | peak, MiB |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, one in sorted(record.items()):
        kind, _, _ = name.partition(":")
        what, ours, other = {
            "fit": lambda one: (f"fit, head of {one['head']:,}", one["private"], one["plain"]),
            "lists": lambda one: ("lists of 20, and the sparse product alone", one["lists"], one["product"]),
            "disk": lambda one: (
                f"fit from disk, {one['ratings'] / 1e6:,.0f} million, head of {one['head']:,}, and reading alone",
                one["fit"],
                one["read"],
            ),
        }[kind](one)
        lines.append(f"| {what} | {ours:.1f} | {other:.1f} | {ours / other:.2f} | {one['peak_mb']:,.0f} |")
    return lines


if __name__ == "__main__":
    main()
