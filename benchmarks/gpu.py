"""A private round on a GPU: time, share of what the card can do, agreement with the CPU.

    python -m benchmarks.gpu [--users N] [--items M] [--ratings K] [--ranks 32 128] [--repeats 10] [--quick]

The world is made on the device: popularity falls like a power, activity is log-normal. Timed after warm-up:

- each kernel with device events, beside the fewest bytes and operations it needs
- a whole round of `discreet.BudgetedALS` with the ratings on the device: users' half, noise, item step
- the item steps of one run again from its releases, on the device and on the CPU: do all questions have the same bits?
- the same round on the CPU of the same machine
- the users' half written plainly in torch, in float32, neither bounded nor exact
- an iteration of implicit's GPU solver, where it loads
- the ten best items of every user, on the device and on the CPU

Writes ``benchmarks/results/gpu.{md,json}`` (or into ``--out``).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from benchmarks import gpu_kernels, gpu_page, gpu_peers, gpu_plain, gpu_rounds
from discreet import kernels

RESULTS = Path(__file__).parent / "results"


def measured_kernels(world: gpu_kernels.World, rank: int, repeats: int) -> list[dict[str, Any]]:
    """Time, bytes and operations of each kernel."""
    return [
        {
            "name": step.name,
            "ms": gpu_kernels.milliseconds(step.work, repeats),
            "memory_bytes": step.memory,
            "cache_bytes": step.cache,
            "operations": step.operations,
            "peak": step.peak,
        }
        for step in gpu_kernels.steps(world, rank)
    ]


def plain(world: gpu_kernels.World, rank: int) -> float:
    factors = torch.randn(world.csr.n_items, rank, device=gpu_kernels.DEVICE) / rank**0.5
    targets = (world.values - 3.0).float()
    return gpu_kernels.milliseconds(lambda: gpu_plain.plain_round(world.csr, targets, factors), 3)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=138_500)
    parser.add_argument("--items", type=int, default=26_700)
    parser.add_argument("--ratings", type=int, default=20_000_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="A small world: does it all run?")
    parser.add_argument(
        "--device-only", action="store_true", help="Leave out what is compared; write no page."
    )
    parser.add_argument("--profile", action="store_true", help="Print where the host's time goes.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    size = (5_000, 1_000, 200_000) if given.quick else (given.users, given.items, given.ratings)
    smaller = (2_000, 500, 60_000) if given.quick else (20_000, 4_000, 2_000_000)
    # A steady clock: the card has worked before anything is timed.
    found: dict[str, Any] = {
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "threads": kernels.get_threads(),
        "size": dict(zip(("users", "items", "ratings"), size, strict=True)),
        "ceilings": gpu_kernels.ceilings(),
        "ranks": {},
    }
    on_device = gpu_kernels.skewed(*size)
    ratings = gpu_rounds.ratings_of(*size)
    for rank in given.ranks:
        entry: dict[str, Any] = {"kernels": measured_kernels(on_device, rank, given.repeats)}
        entry["plain_torch_ms"] = plain(on_device, rank)
        torch.cuda.empty_cache()
        entry["round"], question = gpu_rounds.rounds(ratings, rank, "cuda", number=9)
        entry["peak_device_bytes"] = torch.cuda.max_memory_allocated()
        print(f"rank {rank}:", json.dumps(entry["round"], indent=1))
        if given.profile:
            print(gpu_rounds.profiled(ratings, rank))
        found["ranks"][str(rank)] = entry
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "gpu.json").write_text(json.dumps(found, indent=1) + "\n")
        if given.device_only:
            torch.cuda.empty_cache()
            continue
        entry["alone"] = gpu_rounds.alone(ratings, question, gone=int(ratings.n_users // 3))
        entry["streamed"] = gpu_rounds.streamed(ratings, question, blocks=4)
        entry["round_on_cpu"], _ = gpu_rounds.rounds(ratings, rank, "cpu")
        entry["ranking"] = gpu_peers.ranking(ratings, rank)
        entry["implicit_ms"] = gpu_peers.implicit_ms(ratings, rank)
        entry["moved_by_libraries"] = gpu_rounds.library_moves_others(rank)
        entry["agreement"] = gpu_rounds.agreement(*smaller, rank)
        (given.out / "gpu.json").write_text(json.dumps(found, indent=1) + "\n")
        torch.cuda.empty_cache()
    if given.device_only:
        print(gpu_page.without_comparison(found))
        return
    page = gpu_page.page(found)
    (given.out / "gpu.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
