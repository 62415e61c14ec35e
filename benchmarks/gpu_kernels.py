"""Time of each GPU kernel of a private round, and its share of what the card can do. Part of `benchmarks.gpu`."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from discreet.kernels import gpu

DEVICE = torch.device("cuda")


class World(NamedTuple):
    """Random ratings of a skewed market, made on the device."""

    csr: gpu.Csr
    values: torch.Tensor


def skewed(users: int, items: int, ratings: int, seed: int = 0) -> World:
    """Popularity falls like rank^-0.8, activity is log-normal; every pair once."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    activity = torch.exp(torch.randn(users, device=DEVICE, generator=generator))
    popularity = (torch.arange(items, device=DEVICE) + 10.0) ** -0.8
    found = torch.empty(0, dtype=torch.int64, device=DEVICE)
    while len(found) < ratings:
        size = int(1.2 * (ratings - len(found))) + 1000
        edges = torch.cumsum(activity.double(), 0)
        draw = torch.rand(size, device=DEVICE, generator=generator, dtype=torch.float64)
        who = torch.searchsorted(edges, draw * edges[-1]).clamp_(max=users - 1)
        edges = torch.cumsum(popularity.double(), 0)
        draw = torch.rand(size, device=DEVICE, generator=generator, dtype=torch.float64)
        what = torch.searchsorted(edges, draw * edges[-1]).clamp_(max=items - 1)
        found = torch.unique(torch.cat([found, who * items + what]))
    kept = torch.randperm(len(found), device=DEVICE, generator=generator)[:ratings]
    found = torch.sort(found[kept]).values
    counts = torch.bincount(found // items, minlength=users)
    indptr = torch.zeros(users + 1, dtype=torch.int64, device=DEVICE)
    indptr[1:] = torch.cumsum(counts, 0)
    csr = gpu.Csr(indptr, (found % items).to(torch.int32), items)
    values = torch.randint(1, 6, (ratings,), device=DEVICE, generator=generator).double()
    return World(csr, values)


def milliseconds(work: Callable[[], Any], repeats: int = 10) -> float:
    """Median of device times, after a warm-up."""
    work()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def ceilings() -> dict[str, float]:
    """What the card does at best: GB/s of a copy (read and written), GFLOP/s of matrix products."""
    found, size = {"copy_gb_s": _copy()}, 8192
    left = torch.randn(size, size, device=DEVICE)
    for name, precision in (("float32_gflop_s", "highest"), ("tf32_gflop_s", "high")):
        torch.set_float32_matmul_precision(precision)
        found[name] = 2.0 * size**3 / 1e6 / milliseconds(lambda: left @ left)
    torch.set_float32_matmul_precision("highest")
    left = left.double()
    found["float64_gflop_s"] = 2.0 * size**3 / 1e6 / milliseconds(lambda: left @ left)
    return found


def _copy() -> float:
    big = torch.randn(2**30, device=DEVICE)
    other = torch.empty_like(big)
    return 8.0 * 2**30 / 1e6 / milliseconds(lambda: other.copy_(big))


class Step(NamedTuple):
    """A kernel, its fewest bytes through memory, its bytes through the cache, and its operations."""

    name: str
    work: Callable[[], Any]
    memory: float
    cache: float
    operations: float
    peak: str


def steps(world: World, rank: int) -> list[Step]:
    """The kernels of one round, on random factors."""
    csr = world.csr
    generator = torch.Generator(DEVICE).manual_seed(1)
    n, m, pairs, order = csr.n_users, csr.n_items, len(csr.items), 1 + rank
    factors = torch.randn(m, rank, device=DEVICE, generator=generator, dtype=torch.float64) / rank**0.5
    single, weights = factors.float(), torch.rand(m, device=DEVICE, dtype=torch.float64) + 0.5
    targets = world.values - 3.0
    singles = targets.float()
    solved = gpu.solve_users(csr, singles, single, 1.0, 5.0).double()
    offsets, vectors = solved[:, 0].contiguous(), solved[:, 1:].contiguous()
    matrix = torch.randn(order, order, device=DEVICE, dtype=torch.float64)
    residuals, _ = gpu.user_residuals(csr, targets, offsets, vectors, factors, weights)
    scale, used = torch.full((n,), 5000.0, device=DEVICE, dtype=torch.float64), torch.ones(n, device=DEVICE)
    whole = gpu.pair_targets(csr, residuals, scale, used)
    features = torch.randint(-(2**14), 2**14, (n, order), device=DEVICE, dtype=torch.int16)
    omega = torch.randint(0, 2**28, (n,), device=DEVICE, dtype=torch.int32)
    by_item = csr.by_item
    return [
        Step(
            "user solves",
            lambda: gpu.solve_users(csr, singles, single, 1.0, 5.0),
            8.0 * pairs + 4.0 * n * order,
            4.0 * pairs * rank + 16.0 * n * rank**2,
            # Half of each symmetric product, a third of a cube.
            pairs * rank * (rank + 1.0) + n * rank**3 / 3.0,
            "float32_gflop_s",
        ),
        Step(
            "features",
            lambda: gpu.transform_users(vectors, matrix),
            8.0 * n * (rank + order),
            8.0 * n * order * order,
            2.0 * n * order * order,
            "float64_gflop_s",
        ),
        Step(
            "residuals",
            lambda: gpu.user_residuals(csr, targets, offsets, vectors, factors, weights),
            20.0 * pairs + 8.0 * n * order,
            8.0 * pairs * order,
            2.0 * pairs * order,
            "float64_gflop_s",
        ),
        Step("targets", lambda: gpu.pair_targets(csr, residuals, scale, used), 10.0 * pairs, 0, pairs, ""),
        Step(
            "energies",
            lambda: gpu.weighted_squares(csr, whole, weights),
            6.0 * pairs,
            8.0 * pairs,
            3 * pairs,
            "",
        ),
        Step(
            "gradient sums",
            lambda: gpu.item_sums(by_item, features, whole, m),
            10.0 * pairs + 2.0 * n * order + 8.0 * m * order,
            2.0 * pairs * order,
            2.0 * pairs * order,
            "",
        ),
        Step("weight sums", lambda: gpu.item_weights(by_item, omega, m), 4.0 * pairs, 4.0 * pairs, pairs, ""),
        Step(
            "moment",
            lambda: gpu.user_moment(features),
            10.0 * n * order,
            0,
            2.0 * n * order**2,
            "float64_gflop_s",
        ),
    ]
