"""Time of one training iteration beside `implicit`, both measured in turns in the same run.

    python -m benchmarks.speed [--users N] [--items M] [--ratings K] [--ranks 32 64 128] [--repeats 3] [--quick]

The world is the skewed market; all but private rounds read its ratings as clicks. These are timed, an iteration
being both half steps:

- implicit, exact: its Cholesky solver (``use_cg=False``)
- discreet, exact: `discreet.ALS`, not private
- implicit, CG: its approximate solver, three conjugate-gradient steps
- discreet, private: a whole round of `discreet.BudgetedALS`, noise included
- the ten best items of every user that they have not taken yet, by implicit's ``recommend`` and by ours

Then the start of the package is timed.

Numbers are medians. BLAS is held to one thread, as implicit asks for; both libraries use the same number of their own
threads. Memory is the peak of the process while a method runs, with the ratings and what the allocator has kept.
Writes ``benchmarks/results/speed.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import implicit
import numpy as np
import psutil
import scipy.sparse
from implicit.cpu.als import AlternatingLeastSquares
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from discreet import ALS, Budget, BudgetedALS, Ratings, kernels
from discreet.data import synthetic

RESULTS = Path(__file__).parent / "results"
BUDGET = Budget(epsilon=5.0, delta=1e-6)
CONFIDENCE = (
    2.0  # implicit's weight of a click is its confidence minus one: the same problem as ours with weight one
)

Iteration = Callable[[], float]


def clicks(world: Ratings) -> Ratings:
    """The same with the values left out."""
    ones = np.ones(world.n_ratings)
    return Ratings.from_arrays(world.indptr, world.items, ones, catalogue=world.catalogue, rating_range=None)


def as_matrix(world: Ratings) -> scipy.sparse.csr_matrix:
    values = np.full(world.n_ratings, CONFIDENCE, np.float32)
    shape = world.n_users, world.n_items
    return scipy.sparse.csr_matrix((values, world.items, world.indptr.astype(np.int32)), shape)


def implicit_iteration(matrix: scipy.sparse.csr_matrix, rank: int, threads: int, *, cg: bool) -> Iteration:
    model = AlternatingLeastSquares(
        factors=rank, iterations=1, use_native=True, use_cg=cg, num_threads=threads, random_state=0
    )

    def run() -> float:
        seconds: list[float] = []
        model.fit(matrix, show_progress=False, callback=lambda number, elapsed, loss: seconds.append(elapsed))
        return seconds[0]

    return run


class Stopwatch:
    """A progress callback that notes when each step is reported."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.times.append(time.perf_counter())

    def steps(self) -> list[float]:
        return [after - before for before, after in zip(self.times, self.times[1:], strict=False)]


def exact_iteration(world: Ratings, rank: int) -> Iteration:
    def run() -> float:
        watch = Stopwatch()
        # All settings are given, so that there is nothing to choose first.
        ALS(rank=rank, rounds=1, penalty=1.0, offset_penalty=0.4).fit(world, rng=0, progress=watch)
        return watch.steps()[0]

    return run


def private_round(world: Ratings, rank: int) -> Iteration:
    """The slower of two rounds (the first of a run does a little less), after the activity and the offsets."""

    def run() -> float:
        watch = Stopwatch()
        method = BudgetedALS(rank=rank, rounds=2)
        method.fit(world, BUDGET, rng=0, progress=watch)
        return max(watch.steps()[2:])

    return run


def implicit_lists(matrix: scipy.sparse.csr_matrix, rank: int, threads: int) -> Iteration:
    model = AlternatingLeastSquares(factors=rank, use_native=True, num_threads=threads, random_state=0)
    model.user_factors, model.item_factors = random_factors(matrix.shape, rank)
    everybody = np.arange(matrix.shape[0])

    def run() -> float:
        begin = time.perf_counter()
        model.recommend(everybody, matrix, N=10, filter_already_liked_items=True)
        return time.perf_counter() - begin

    return run


def lists(matrix: scipy.sparse.csr_matrix, rank: int) -> Iteration:
    vectors, factors = random_factors(matrix.shape, rank)
    offsets = np.zeros(len(factors))

    def run() -> float:
        begin = time.perf_counter()
        kernels.top_n(vectors, factors, offsets, 10, matrix.indptr, matrix.indices)
        return time.perf_counter() - begin

    return run


def random_factors(shape: tuple[int, int], rank: int) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((count, rank), dtype=np.float32) for count in shape]


def start_up(repeats: int = 3) -> dict[str, float]:
    """Seconds of a process that imports the package and ends, and of one that does nothing; the best of a few."""
    programs = {"import discreet": "import discreet", "nothing": "pass"}
    found = {name: float("inf") for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            found[name] = min(found[name], time.perf_counter() - begin)
    return found


class Memory:
    """Peak resident memory of this process inside a ``with`` block, looked at every 10 ms."""

    def __enter__(self) -> Memory:
        self._process, self._over = psutil.Process(), threading.Event()
        self.peak = self._process.memory_info().rss
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self.peak = max(self.peak, self._process.memory_info().rss)

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watcher.join()


def measure(methods: dict[str, Iteration], repeats: int) -> dict[str, dict[str, Any]]:
    """Every method once, then again from the first on, so that a busy machine slows all of them alike."""
    found: dict[str, dict[str, Any]] = {name: {"seconds": [], "peak_rss_mb": 0.0} for name in methods}
    for _ in range(repeats):
        for name, run in methods.items():
            with Memory() as memory:
                found[name]["seconds"].append(run())
            found[name]["peak_rss_mb"] = max(found[name]["peak_rss_mb"], memory.peak / 2**20)
    for entry in found.values():
        entry["median"] = statistics.median(entry["seconds"])
    return found


def disagreement(world: Ratings, matrix: scipy.sparse.csr_matrix, rank: int, threads: int) -> float:
    """Largest difference of the users' vectors from implicit's exact ones, relative to the largest vector entry."""
    few = matrix[:2000]
    model = AlternatingLeastSquares(
        factors=rank, use_native=True, use_cg=False, num_threads=threads, random_state=0
    )
    model.item_factors = np.random.default_rng(0).random((world.n_items, rank), dtype=np.float32)
    theirs = model.recalculate_user(np.arange(2000), few)
    gram = model.item_factors.T @ model.item_factors
    ridge = np.full(rank, model.regularization)
    ours = kernels.solve_rows(few.indptr, few.indices, few.data, model.item_factors, ridge, gram=gram)
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def benchmark(rated: Ratings, ranks: list[int], repeats: int, threads: int) -> list[dict[str, Any]]:
    world = clicks(rated)
    matrix = as_matrix(world)
    rows = []
    for rank in ranks:
        methods = {
            "implicit, exact": implicit_iteration(matrix, rank, threads, cg=False),
            "discreet, exact": exact_iteration(world, rank),
            "implicit, CG": implicit_iteration(matrix, rank, threads, cg=True),
            "discreet, private": private_round(rated, rank),
            "implicit, top 10 of everybody": implicit_lists(matrix, rank, threads),
            "discreet, top 10 of everybody": lists(matrix, rank),
        }
        found = measure(methods, repeats)
        median = {name: entry["median"] for name, entry in found.items()}
        rows.append(
            {
                "rank": rank,
                "methods": found,
                "exact_speedup": median["implicit, exact"] / median["discreet, exact"],
                "private_cost": median["discreet, private"] / median["implicit, CG"],
                "lists_speedup": median["implicit, top 10 of everybody"]
                / median["discreet, top 10 of everybody"],
                "disagreement": disagreement(world, matrix, rank, threads),
            }
        )
    return rows


def cells(row: dict[str, Any]) -> list[list[str]]:
    relative = {
        "discreet, exact": f"{row['exact_speedup']:.1f} times the speed of implicit, exact",
        "discreet, private": f"{row['private_cost']:.2f} times the time of implicit, CG",
        "discreet, top 10 of everybody": f"{row['lists_speedup']:.2f} times the speed of implicit's",
    }
    lines = []
    for name, entry in row["methods"].items():
        spread = f"{min(entry['seconds']):.2f} to {max(entry['seconds']):.2f}"
        memory = f"{entry['peak_rss_mb']:,.0f}"
        lines.append(
            [str(row["rank"]), name, f"{entry['median']:.2f}", spread, memory, relative.get(name, "")]
        )
    return lines


HEADER = ["rank", "method", "seconds", "from .. to", "peak memory, MB", ""]


def report(setting: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    lines = [
        "# Speed",
        "",
        "Written by `python -m benchmarks.speed`: one iteration (both half steps), median of "
        f"{setting['repeats']}, all methods in turns in one run.",
        "",
        f"{setting['users']:,} users, {setting['items']:,} items, {setting['ratings']:,} ratings (skewed market, as "
        f"clicks); {setting['threads']} threads; {setting['processor']}; implicit {setting['implicit']}. "
        f"Peak memory of the whole run: {setting['peak_rss_mb']:,.0f} MB.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "|" + "---|" * len(HEADER),
        *("| " + " | ".join(line) + " |" for row in rows for line in cells(row)),
        "",
        "Users' vectors differ from implicit's exact ones by at most "
        + ", ".join(f"{row['disagreement']:.0e} (rank {row['rank']})" for row in rows)
        + " of the largest entry: float32 rounding, the same problem solved.",
        "",
        f"A process that imports the package takes {setting['start_up']['import discreet']:.2f} s, one that does "
        f"nothing {setting['start_up']['nothing']:.2f} s.",
        "",
    ]
    return "\n".join(lines)


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=70_000)
    parser.add_argument("--items", type=int, default=10_700)
    parser.add_argument("--ratings", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=kernels.get_threads())
    parser.add_argument("--quick", action="store_true", help="a small world and ranks 16 and 32")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.users, chosen.items, chosen.ratings, chosen.ranks = 7_000, 1_000, 500_000, [16, 32]
    return chosen


def warm_up() -> None:
    """Compile, or load from disk, everything that will be timed."""
    small = synthetic.market(300, 100, 6000, rng=0)
    exact_iteration(clicks(small), 4)()
    private_round(small, 4)()


def main() -> None:
    chosen = arguments()
    with threadpool_limits(1), kernels.threads(chosen.threads), Memory() as memory:
        warm_up()
        world = synthetic.market(chosen.users, chosen.items, chosen.ratings, rng=0)
        rows = benchmark(world, chosen.ranks, chosen.repeats, chosen.threads)
    setting = {
        "users": world.n_users,
        "items": world.n_items,
        "ratings": world.n_ratings,
        "threads": chosen.threads,
        "repeats": chosen.repeats,
        "processor": processor(),
        "implicit": implicit.__version__,
        "peak_rss_mb": memory.peak / 2**20,
        "start_up": start_up(),
    }
    table = Table(
        *HEADER, title=f"{world.n_users:,} users, {world.n_items:,} items, {world.n_ratings:,} ratings"
    )
    for row in rows:
        for line in cells(row):
            table.add_row(*line)
        table.add_section()
    Console(width=max(Console().width, 130)).print(table)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "speed.json").write_text(json.dumps({"setting": setting, "ranks": rows}, indent=2) + "\n")
    (chosen.out / "speed.md").write_text(report(setting, rows))


if __name__ == "__main__":
    main()
