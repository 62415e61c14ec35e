"""Whole private rounds on a GPU: time of each part, and agreement with the CPU. Part of `benchmarks.gpu`."""

from __future__ import annotations

import cProfile
import io
import pstats
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from benchmarks.gpu_kernels import DEVICE, skewed
from discreet import Budget, BudgetedALS, Catalogue, Ratings, kernels
from discreet.engines.gpu import PER_ENTRY, PER_RATING, GpuEngine
from discreet.engines.memory import MemoryEngine
from discreet.kernels import gpu
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.private.gpu_contributions import GpuBudgetedContributions
from discreet.methods.budgeted.public.queries import RoundQuery
from discreet.methods.protocol import ProtocolRun
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.totals import exact_totals

BUDGET = Budget(epsilon=5.0, delta=1e-6)
PARTS = {"totals": "users' half, on the device", "release_totals": "noise", "take": "item step"}


def ratings_of(users: int, items: int, ratings: int) -> Ratings:
    """The skewed world of the kernels, as ratings."""
    world = skewed(users, items, ratings)
    listed = Catalogue([f"item {number}" for number in range(items)])
    arrays = (part.cpu().numpy() for part in (world.csr.indptr, world.csr.items, world.values))
    return Ratings.from_arrays(*arrays, catalogue=listed, rating_range=(1.0, 5.0))


@contextmanager
def watched(seconds: dict[str, list[float]], asked: list[Any]) -> Iterator[None]:
    """Time the three parts of every question, and note the questions."""
    originals = {
        (GpuEngine, "totals"),
        (MemoryEngine, "totals"),
        (Gate, "release_totals"),
        (ProtocolRun, "take"),
    }
    kept = {(owner, name): getattr(owner, name) for owner, name in originals}

    def timed(name: str, work: Any) -> Any:
        def run(self: Any, *args: Any, **options: Any) -> Any:
            if name == "totals":
                asked.append(args[0])
            begin = time.perf_counter()
            result = work(self, *args, **options)
            seconds[name].append(time.perf_counter() - begin)
            return result

        return run

    try:
        for (owner, name), work in kept.items():
            setattr(owner, name, timed(name, work))
        yield
    finally:
        for (owner, name), work in kept.items():
            setattr(owner, name, work)


def profiled(world: Ratings, rank: int, number: int = 9) -> str:
    """Functions of the host that take most of a run, by their own time on the calling thread."""
    method, profile = BudgetedALS(rank=rank, rounds=number), cProfile.Profile()
    profile.runcall(method.fit, world, BUDGET, rng=0, device="cuda")
    out = io.StringIO()
    pstats.Stats(profile, stream=out).sort_stats("tottime").print_stats(40)
    return out.getvalue()


def rounds(world: Ratings, rank: int, device: str, number: int = 5) -> tuple[dict[str, float], RoundQuery]:
    """Median time of a round and its parts, after the first questions of a run as warm-up; and a late question."""
    seconds: dict[str, list[float]] = defaultdict(list)
    asked: list[Any] = []
    method = BudgetedALS(rank=rank, rounds=number)
    with watched(seconds, asked):
        method.fit(world, BUDGET, rng=0, device=device)
    # Activity, offsets and two rounds: compilation, uploads, and the first step, which has its own code.
    found = {PARTS[name]: statistics.median(times[4:]) for name, times in seconds.items()}
    # A step is timed between two answers, so the last one, which ends the run, is as good as the others.
    whole = [sum(parts) for parts in zip(*(seconds[name][4:] for name in PARTS), strict=True)]
    found["a round"] = statistics.median(whole)
    return found, asked[-1]


def agreement(users: int, items: int, pairs: int, rank: int) -> dict[str, Any]:
    """How many integers of a late round differ from the CPU's, and whether sums of the same integers do."""
    world = ratings_of(users, items, pairs)
    _, question = rounds(world, rank, "cpu")
    device, host = (
        GpuBudgetedContributions(world, DEVICE).contributions(question),
        BudgetedContributions(world).contributions(question),
    )
    gradient, weight, moment = device
    found: dict[str, Any] = {"users": users, "items": items, "ratings": pairs, "rank": rank}
    arrays = {
        "gradient features": (gradient.features, host[0].features),
        "gradient targets": (gradient.targets, host[0].targets),
        "weights": (weight.omega, host[1].weights),
        "moment rows": (moment.rows, host[2].features),
    }
    for name, (there, here) in arrays.items():
        steps = np.abs(there.cpu().numpy().astype(np.int64) - here)
        found[name] = {"differ": int((steps > 0).sum()), "of": steps.size, "largest": int(steps.max())}
    by_item = gpu.Csr.upload(world.indptr, world.items, world.n_items, DEVICE).by_item
    features, targets = (torch.as_tensor(array).to(DEVICE) for array in (host[0].features, host[0].targets))
    pattern = host[0].pattern
    there = gpu.item_sums(by_item, features, targets, world.n_items).cpu().numpy()
    found["sums of the same integers are equal"] = bool(
        np.array_equal(there, kernels.item_sums(*pattern.by_item, host[0].features, host[0].targets))
        and np.array_equal(gpu.user_moment(features).cpu().numpy(), kernels.user_moment(host[0].features))
    )
    here, there = exact_totals(host), exact_totals(device)
    sigma = {total.name: float(np.min(total.unit)) / question.mu for total in here}
    found["largest difference of a total, in standard deviations of its noise"] = max(
        float(np.abs(one.value - two.value).max()) / sigma[one.name]
        for one, two in zip(here, there, strict=True)
    )
    return found


def alone(world: Ratings, question: RoundQuery, gone: int) -> bool:
    """Whether all other users' integers stay the same to the last bit without one user, and in another order."""
    kept = np.delete(np.arange(world.n_users), gone)
    kept = np.roll(kept, 12_345)
    with_all, without = (
        [array.cpu().numpy() for array in _integers(part, question)]
        for part in (world, world.take_users(kept))
    )
    rows = np.diff(world.indptr)[kept]
    entries = np.arange(rows.sum()) + np.repeat(world.indptr[kept] - (np.cumsum(rows) - rows), rows)
    same = [
        np.array_equal(before[entries if len(before) == world.n_ratings else kept], after)
        for before, after in zip(with_all, without, strict=True)
    ]
    return all(same)


def _integers(world: Ratings, question: RoundQuery) -> list[torch.Tensor]:
    gradient, weight, moment = GpuBudgetedContributions(world, DEVICE).contributions(question)
    return [gradient.features, gradient.targets, weight.omega, moment.rows]


def streamed(world: Ratings, question: RoundQuery, blocks: int) -> dict[str, Any]:
    """The same question with the ratings cut into blocks that pass through the device."""
    resident = GpuEngine(GpuBudgetedContributions, world, DEVICE)
    whole = resident.totals(question)
    memory = (PER_RATING * world.n_ratings + PER_ENTRY * (1.0 + question.side.rank) * world.n_users) / blocks
    engine = GpuEngine(GpuBudgetedContributions, world, DEVICE, memory)
    engine.totals(question)
    begin = time.perf_counter()
    parts = engine.totals(question)
    spent = time.perf_counter() - begin
    same = all(np.array_equal(one.value, two.value) for one, two in zip(whole, parts, strict=True))
    return {"blocks": blocks, "seconds": spent, "same bits": same}


def library_moves_others(rank: int) -> dict[str, dict[str, int]]:
    """How many of the first users libraries' batches round differently when 20,000 others are in the batch too."""
    generator = torch.Generator(DEVICE).manual_seed(2)
    n = 20_000
    rows = torch.randn(n, rank, device=DEVICE, generator=generator, dtype=torch.float64)
    matrix = torch.randn(rank, rank, device=DEVICE, generator=generator, dtype=torch.float64)
    some = torch.randn(n, 2 * rank, rank, device=DEVICE, generator=generator)

    def solved(batch: torch.Tensor) -> torch.Tensor:
        normal = batch.transpose(1, 2) @ batch + torch.eye(rank, device=DEVICE)
        return torch.cholesky_solve(batch.sum(1)[:, :, None], torch.linalg.cholesky_ex(normal)[0])[:, :, 0]

    works = {
        "matrix product": (lambda batch: batch @ matrix, rows),
        "squared lengths": (lambda batch: (batch * batch).sum(1, keepdim=True), rows),
        "batched solve": (solved, some),
    }
    return {
        name: {
            str(few): int((work(batch[:few]) != work(batch)[:few]).any(1).sum())
            for few in (1, 7, 100, 1_000, n - 1)
        }
        for name, (work, batch) in works.items()
    }
