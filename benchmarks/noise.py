"""A hundred million draws of every sampler against its exact law, streams against each other, published attacks.

Run: python -m benchmarks.noise    (writes benchmarks/results/noise.json and docs/assurance/noise.md)
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.privacy.draws import attacks, streams
from tests.privacy.draws.samplers import CHUNK, MANY, SAMPLERS
from tests.privacy.draws.tally import ALARM, Tally, fit, power, shift

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "benchmarks/results/noise.json", ROOT / "docs/assurance/noise.md"
# Draws that a process makes before it hands its counts back.
HELPING = 16 * CHUNK
STREAM = 1 << 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=MANY)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page-only", action="store_true", help="write the page from the stored numbers")
    args = parser.parse_args()
    if not args.page_only:
        started = time.perf_counter()
        found = {
            "date": date.today().isoformat(),
            "alarm": ALARM,
            "samplers": samplers(args.draws, args.processes),
            "streams": in_streams(),
            "attacks": attacks.measure(),
        }
        found["seconds"] = round(time.perf_counter() - started)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    found = json.loads(RESULTS.read_text())
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(found))
    return 0 if passed(found) else 1


def tally(name: str, draws: int) -> Tally:
    return SAMPLERS[name].tally(draws)


def samplers(draws: int, processes: int) -> dict[str, Any]:
    """Every sampler's draws, and how they fit."""
    found = {}
    with ProcessPoolExecutor(processes, get_context("forkserver")) as pool:
        for name, sampler in SAMPLERS.items():
            total = draws * sampler.times
            parts = [min(HELPING, total - start) for start in range(0, total, HELPING)]
            counted = Tally.like(sampler.law())
            for part in pool.map(tally, [name] * len(parts), parts):
                counted.join(part)
            found[name] = judged(name, counted)
            print(f"{name}: {json.dumps(found[name])}", flush=True)
    return found


def judged(name: str, counted: Tally) -> dict[str, Any]:
    sampler = SAMPLERS[name]
    right = fit(counted, sampler.law(), sampler.score)
    expected = [
        shift(counted.draws, sampler.law(), sampler.law(off=off), sampler.score)
        for off in (sampler.off, -sampler.off)
    ]
    wrong = [
        fit(counted, sampler.law(off=off), sampler.score).scale_errors for off in (sampler.off, -sampler.off)
    ]
    per_error = min(abs(value) for value in expected) / sampler.off
    statistic, p_value = right.worst
    return {
        "draws": counted.draws,
        "off": sampler.off,
        "estimate_off": right.scale_errors / per_error,
        "standard_error": 1.0 / per_error,
        "statistics": len(right.p_values),
        "least_p": p_value,
        "least_p_of": statistic,
        "power": min(power(value) for value in expected),
        "wrong_laws_missed_by": wrong,
        "passed": not right.alarm and all(2.0 * _tail(value) < ALARM for value in wrong),
    }


def _tail(errors: float) -> float:
    return power(0.0) if abs(errors) == 0 else _normal_tail(abs(errors))
