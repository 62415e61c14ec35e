"""The local model at full size: 138,000 devices, 26,000 items, 10 rounds, and what one answer costs a device.

Run: python benchmarks/local.py            (writes benchmarks/results/local.md)
"""

from __future__ import annotations

import os
import resource
import secrets
import time
from array import array
from pathlib import Path

import numpy as np

from discreet.data.synthetic import market
from discreet.devices.device.answer import answer
from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import Question
from discreet.devices.device.recommend import recommend
from discreet.devices.simulation import fit

RESULTS = Path(__file__).parent / "results" / "local.md"
USERS, ITEMS, RATINGS, ROUNDS = 138_000, 26_000, 20_000_000, 10
TASKS: dict[str, dict[str, int]] = {
    "popularity and offsets": {"groups": ROUNDS},
    "the last 5 rounds about factors of rank 4": {"groups": ROUNDS, "factor_rounds": 5, "rank": 4},
}


def main() -> None:
    ratings = market(USERS, ITEMS, RATINGS, rng=1)
    lines = [
        "# The local model at full size",
        "",
        f"{USERS:,} simulated devices, {ITEMS:,} items, {RATINGS:,} ratings, {ROUNDS} rounds, epsilon 1, "
        f"{os.cpu_count()} cores.",
        "",
        "| rounds ask for | seconds | peak memory of the process, GiB |",
        "|---|---|---|",
    ]
    for name, settings in TASKS.items():
        started = time.perf_counter()
        fit(ratings, 1.0, goal="rate", **settings)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        lines.append(f"| {name} | {seconds:.1f} | {peak:.2f} |")
    lines += [
        "",
        "One answer on a device (plain Python), median of 20:",
        "",
        "| ratings | milliseconds |",
        "|---|---|",
    ]
    question = Question("films", 1, "offsets", 1.0, secrets.token_hex(32), 16, ITEMS, 0, (1.0, 5.0))
    rng = np.random.default_rng(0)
    for count in (10, 100, 1_000):
        own = {int(item): float(rng.integers(1, 6)) for item in rng.choice(ITEMS, count, replace=False)}
        lines.append(
            f"| {count:,} | {_median(lambda own=own: answer(question, own, secrets.token_bytes(16))):.2f} |"
        )
    side = DeviceItemSide(
        1, ITEMS, offsets=array("f", rng.normal(0.0, 0.3, ITEMS).astype(np.float32).tobytes())
    )
    ten = _median(lambda: recommend(own, side, (1.0, 5.0), 10))
    lines += ["", f"The ten best of {ITEMS:,} items for a device with 1,000 ratings: {ten:.0f} ms.", ""]
    RESULTS.write_text("\n".join(lines))
    print(RESULTS.read_text())


def _median(work: object, repeats: int = 20) -> float:
    assert callable(work)
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return 1e3 * float(np.median(taken))


if __name__ == "__main__":
    main()
