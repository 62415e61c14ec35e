"""Each compiled loop of a private round beside what the machine can do at best. Part of `benchmarks.speed`.

A loop's floor is the time that its fewest bytes take at the measured rate of a copy, or its fewest operations at the
measured rate of a matrix product, whichever is longer: no program for this machine can be quicker. Sums of integers
are held against products of float32, which need registers of the same width.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from discreet import Budget, BudgetedALS, Ratings, kernels
from discreet.engines.memory import MemoryEngine
from discreet.methods.protocol import ProtocolRun
from discreet.privacy.gaussian.gate import Gate

__all__ = ["ceilings", "hot_loops", "lines"]

PARTS = {
    (MemoryEngine, "totals"): "users' half",
    (Gate, "release_totals"): "noise",
    (ProtocolRun, "take"): "item step",
}


class Least(NamedTuple):
    """Fewest bytes between memory and processor, fewest operations, and what does these."""

    bytes: float
    operations: float
    peak: str


def _solve_rows(indptr: Any, items: Any, targets: Any, features: Any, *_: Any, **__: Any) -> Least:
    n, pairs, (m, d), size = len(indptr) - 1, len(items), features.shape, features.itemsize
    # Half of each symmetric product, a third of a cube.
    work = pairs * d * (d + 1.0) + n * d**3 / 3.0
    return Least(pairs * (4.0 + targets.itemsize) + (n + m) * d * size, work, f"float{8 * size}")


def _residuals(indptr: Any, items: Any, targets: Any, coefficients: Any, features: Any) -> Least:
    d = features.shape[1]
    moved = len(items) * (4.0 + targets.itemsize + 8.0) + (len(coefficients) + len(features)) * d * 8.0
    return Least(moved, 2.0 * len(items) * d, "float64")


def _transform_rows(rows: Any, matrix: Any, *_: Any, **__: Any) -> Least:
    n, width = len(rows), len(matrix)
    return Least(rows.nbytes + 8.0 * n * width, 2.0 * rows.size * width, "float64")


def _item_sums(t_indptr: Any, t_users: Any, t_position: Any, features: Any, targets: Any) -> Least:
    m, d = len(t_indptr) - 1, features.shape[1]
    moved = t_users.nbytes + t_position.nbytes + targets.nbytes + features.nbytes + 8.0 * m * d
    return Least(moved, 2.0 * len(t_users) * d, "float32")


def _item_moments(t_indptr: Any, t_users: Any, features: Any) -> Least:
    m, d = len(t_indptr) - 1, features.shape[1]
    return Least(t_users.nbytes + features.nbytes + 8.0 * m * d * d, len(t_users) * d * (d + 1.0), "float32")


def _user_moment(features: Any) -> Least:
    return Least(features.nbytes, features.size * (features.shape[1] + 1.0), "float32")


def _item_weights(t_indptr: Any, t_users: Any, weights: Any) -> Least:
    return Least(t_users.nbytes + weights.nbytes + t_indptr.nbytes, float(len(t_users)), "float32")


def _truncated(indptr: Any, values: Any, scales: Any) -> Least:
    return Least(values.nbytes + 2.0 * values.size, float(values.size), "float64")


def _above_offsets(items: Any, values: Any, *_: Any, kind: Any = np.float64, **__: Any) -> Least:
    return Least(values.nbytes + len(items) * (4.0 + np.dtype(kind).itemsize), 2.0 * len(items), "float64")


def _row_squares(indptr: Any, items: Any, weights: Any = None, values: Any = None) -> Least:
    moved = (0.0 if weights is None else items.nbytes) + (0.0 if values is None else values.nbytes)
    return Least(moved + 8.0 * len(indptr), 3.0 * len(items), "float64")


def _square_norms(rows: Any) -> Least:
    return Least(float(rows.nbytes), 2.0 * rows.size, "float64")


LEAST: dict[str, Callable[..., Least]] = {
    "solve_rows": _solve_rows,
    "residuals": _residuals,
    "transform_rows": _transform_rows,
    "item_sums": _item_sums,
    "item_moments": _item_moments,
    "user_moment": _user_moment,
    "item_weights": _item_weights,
    "truncated": _truncated,
    "above_offsets": _above_offsets,
    "row_squares": _row_squares,
    "square_norms": _square_norms,
}


def ceilings(repeats: int = 5) -> dict[str, float]:
    """Best of some tries: bytes a second of a copy (read and written), operations a second of matrix products."""
    big, other = np.ones(2**26), np.zeros(2**26)

    def copy() -> None:
        kernels.by_rows(lambda some: np.copyto(other[some], big[some]), len(big))

    found = {"copy": 2.0 * big.nbytes / _best(copy, repeats)}
    size = 3000
    with threadpool_limits(kernels.get_threads()):
        for kind in (np.float32, np.float64):
            left = np.ones((size, size), kind)
            found[np.dtype(kind).name] = 2.0 * size**3 / _best(lambda left=left: left @ left, repeats)
    return found


def _best(work: Callable[[], Any], repeats: int) -> float:
    return min(_seconds(work) for _ in range(repeats + 1))


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


@contextmanager
def _watched(log: list[tuple[str, float, Least | None]]) -> Iterator[None]:
    """Note the time and the least work of every loop, and the time of each part of a question."""
    kept = {(kernels, name): getattr(kernels, name) for name in LEAST}
    kept |= {(owner, name): getattr(owner, name) for owner, name in PARTS}

    def timed(owner: Any, name: str, work: Any) -> Any:
        def run(*args: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            result = work(*args, **options)
            spent = time.perf_counter() - begin
            part = PARTS.get((owner, name))
            log.append((part or name, spent, None if part else LEAST[name](*args, **options)))
            return result

        return run

    try:
        for (owner, name), work in kept.items():
            setattr(owner, name, timed(owner, name, work))
        yield
    finally:
        for (owner, name), work in kept.items():
            setattr(owner, name, work)


def hot_loops(world: Ratings, rank: int, budget: Budget, best: dict[str, float]) -> list[dict[str, Any]]:
    """The parts and loops of a late round: seconds, and the floor where there is one."""
    log: list[tuple[str, float, Least | None]] = []
    marks: list[int] = []
    with _watched(log):
        method = BudgetedALS(rank=rank, rounds=3)
        method.fit(world, budget, rng=0, progress=lambda stage, done, total: marks.append(len(log)))
    seconds: dict[str, float] = defaultdict(float)
    floor: dict[str, float] = defaultdict(float)
    for name, spent, least in log[marks[-3] : marks[-2]]:
        seconds[name] += spent
        if least is not None:
            floor[name] += max(least.bytes / best["copy"], least.operations / best[least.peak])
    order = [*PARTS.values(), *sorted(LEAST, key=lambda name: -seconds[name])]
    return [
        {"name": name, "seconds": seconds[name], "floor": floor.get(name)} for name in order if seconds[name]
    ]


def lines(rows: list[dict[str, Any]], best: dict[str, float]) -> list[str]:
    """A table for every rank."""
    out = [
        "",
        "## The loops of a private round",
        "",
        f"Measured on this machine in the same run: a copy moves {best['copy'] / 1e9:.1f} GB/s (read and written), "
        f"matrix products do {best['float32'] / 1e9:.0f} GFLOP/s in float32, {best['float64'] / 1e9:.0f} in float64. "
        "*Of the floor*: the time that a loop's fewest bytes or operations would take at these rates, by its own.",
    ]
    for row in rows:
        out += ["", f"Rank {row['rank']}:", "", "| part or loop | ms | of the floor |", "|---|---|---|"]
        for loop in row["loops"]:
            share = "" if loop["floor"] is None else f"{loop['floor'] / loop['seconds']:.0%}"
            out.append(f"| {loop['name']} | {1e3 * loop['seconds']:,.1f} | {share} |")
    return out
