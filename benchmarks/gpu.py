"""A private round on a GPU: time of its parts, and agreement with the CPU.

    python -m benchmarks.gpu [--users N] [--items M] [--ratings K] [--ranks 32 128] [--quick] [--out FOLDER]

The world is the skewed market. Timed after warm-up are the parts of a round of `discreet.BudgetedALS`, on the device
and on the CPU of the same machine, and the same round with the ratings cut into blocks that are uploaded every time.
Beside that: how many integers differ from the CPU's, whether sums of the same integers do, and whether one user's
absence moves the last bit of another's. Writes ``benchmarks/results/gpu.{md,json}`` (or into ``--out``).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from discreet import Budget, BudgetedALS, Ratings, kernels
from discreet.data.synthetic import market
from discreet.engines.gpu import PER_ENTRY, PER_RATING, GpuEngine
from discreet.engines.memory import MemoryEngine
from discreet.kernels import gpu
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.private.gpu_contributions import GpuBudgetedContributions
from discreet.methods.budgeted.public.queries import RoundQuery
from discreet.methods.public.protocol import ProtocolRun
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.totals import exact_totals

RESULTS = Path(__file__).parent / "results"
DEVICE = torch.device("cuda")
BUDGET = Budget(epsilon=5.0, delta=1e-6)
PARTS = {"totals": "users' half, on the device", "release_totals": "noise", "take": "item step"}


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
    world = market(users, items, pairs, rng=0)
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
    csr = gpu.Csr.upload(world.indptr, world.items, world.n_items, DEVICE)
    features, targets = (torch.as_tensor(array).to(DEVICE) for array in (host[0].features, host[0].targets))
    pattern = host[0].pattern
    there = gpu.item_sums(csr, features, targets).cpu().numpy()
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


def page(found: dict[str, Any]) -> str:
    """Tables for every rank."""
    size = found["size"]
    lines = [
        "# A private round on a GPU",
        "",
        "Written by `python -m benchmarks.gpu`. Times are medians after warm-up.",
        "",
        f"{size['users']:,} users, {size['items']:,} items, {size['ratings']:,} ratings; {found['card']}, torch "
        f"{found['torch']}; the CPU beside it has {found['threads']} threads.",
    ]
    for rank, entry in found["ranks"].items():
        lines += ["", f"## Rank {rank}", "", *_round(entry), "", *_agreement(entry)]
    return "\n".join(lines) + "\n"


def _round(entry: dict[str, Any]) -> list[str]:
    there, here, streamed = entry["round"], entry["round_on_cpu"], entry["streamed"]
    return [
        "| part | GPU, ms | CPU, ms |",
        "|---|---|---|",
        *(f"| {name} | {1e3 * there[name]:,.1f} | {1e3 * here[name]:,.1f} |" for name in there),
        "",
        f"In {streamed['blocks']} blocks that are uploaded every time: {1e3 * streamed['seconds']:,.0f} ms, "
        f"{'the same bits' if streamed['same bits'] else 'OTHER BITS'}. Peak memory of the device: "
        f"{entry['peak_device_bytes'] / 2**30:.1f} GiB.",
    ]


def _agreement(entry: dict[str, Any]) -> list[str]:
    found = entry["agreement"]
    lines = [
        f"Beside the CPU, {found['users']:,} users, {found['items']:,} items, {found['ratings']:,} ratings, "
        "a late round:",
        "",
        "| integers | differ | of | by at most |",
        "|---|---|---|---|",
    ]
    for name in ("gradient features", "gradient targets", "weights", "moment rows"):
        told = found[name]
        lines.append(f"| {name} | {told['differ']:,} | {told['of']:,} | {told['largest']} |")
    deviations = found["largest difference of a total, in standard deviations of its noise"]
    same = found["sums of the same integers are equal"]
    return [
        *lines,
        "",
        f"Sums of the same integers: {'equal' if same else 'NOT EQUAL'}. Largest difference of a total: "
        f"{deviations:.1e} standard deviations of its noise. "
        "Other users' integers without one user and in another order, at full size: "
        f"{'the same bits' if entry['alone'] else 'NOT THE SAME'}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=138_500)
    parser.add_argument("--items", type=int, default=26_700)
    parser.add_argument("--ratings", type=int, default=20_000_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--quick", action="store_true", help="A small world: does it all run?")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    size = (5_000, 1_000, 200_000) if given.quick else (given.users, given.items, given.ratings)
    smaller = (2_000, 500, 60_000) if given.quick else (20_000, 4_000, 2_000_000)
    found: dict[str, Any] = {
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "threads": kernels.get_threads(),
        "size": dict(zip(("users", "items", "ratings"), size, strict=True)),
        "ranks": {},
    }
    ratings = market(*size, rng=0)
    for rank in given.ranks:
        parts, question = rounds(ratings, rank, "cuda", number=9)
        found["ranks"][str(rank)] = {
            "round": parts,
            "peak_device_bytes": torch.cuda.max_memory_allocated(),
            "alone": alone(ratings, question, gone=int(ratings.n_users // 3)),
            "streamed": streamed(ratings, question, blocks=4),
            "round_on_cpu": rounds(ratings, rank, "cpu")[0],
            "agreement": agreement(*smaller, rank),
        }
        torch.cuda.empty_cache()
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "gpu.json").write_text(json.dumps(found, indent=1) + "\n")
    (given.out / "gpu.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
