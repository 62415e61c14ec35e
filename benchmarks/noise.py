"""A hundred million draws of every sampler against its exact law, streams against each other, published attacks.

Run: python -m benchmarks.noise    (writes benchmarks/results/noise.json and benchmarks/results/noise.md)
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.noise_page import page
from tests.privacy.draws import streams
from tests.privacy.draws.samplers import CHUNK, MANY, SAMPLERS
from tests.privacy.draws.tally import ALARM, ALARM_ERRORS, Tally, fit, power, shift
from tests.privacy.draws.worlds_apart import USERS, allowed, exclusions, lattices, moved_sums

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "benchmarks/results/noise.json", ROOT / "benchmarks/results/noise.md"
# Draws that a process makes before it hands its counts back.
HELPING = 16 * CHUNK
TODAY = date.today().isoformat()
STREAM = 1 << 16
ATTACKED = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=MANY)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--only", metavar="WORD", help="parts with this in their name; others stay as they are stored"
    )
    parser.add_argument("--page-only", action="store_true", help="write the page from the stored numbers")
    args = parser.parse_args()
    if not args.page_only:
        measure(args.draws, args.processes, args.only)
    found = json.loads(RESULTS.read_text())
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(found))
    return 0 if passed(found) else 1


def measure(draws: int, processes: int, only: str | None) -> None:
    """Every part, stored as soon as it is known."""
    found: dict[str, Any] = {"alarm": ALARM, "samplers": {}, "streams": {}, "attacks": {}}
    if only is not None:
        found = json.loads(RESULTS.read_text())
    word = only or ""
    with ProcessPoolExecutor(processes, get_context("forkserver")) as pool:
        for name in (name for name in SAMPLERS if word in name):
            found["samplers"][name] = drawn(name, draws, pool)
            print(f"{name}: {json.dumps(found['samplers'][name])}", flush=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    if word in "streams":
        found["streams"] = in_streams()
    if word in "attacks":
        found["attacks"] = attacked()
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def tally(name: str, draws: int) -> Tally:
    return SAMPLERS[name].tally(draws)


def drawn(name: str, draws: int, pool: ProcessPoolExecutor) -> dict[str, Any]:
    """One sampler's draws, and how they fit."""
    sampler = SAMPLERS[name]
    total = draws * sampler.times
    parts = [min(HELPING, total - start) for start in range(0, total, HELPING)]
    counted = Tally.like(sampler.law())
    for part in pool.map(tally, [name] * len(parts), parts):
        counted.join(part)
    return {**judged(name, counted), "date": TODAY}


def judged(name: str, counted: Tally) -> dict[str, Any]:
    """p-values under the right law, and by how much the same draws miss laws that are a little off."""
    sampler = SAMPLERS[name]
    right = fit(counted, sampler.law(), sampler.score)
    near = [sampler.law(off=off) for off in (sampler.off, -sampler.off)]
    expected = [abs(shift(counted.draws, sampler.law(), law, sampler.score)) for law in near]
    missed = [fit(counted, law, sampler.score).scale_errors for law in near]
    least = min(expected) / sampler.off
    return {
        "draws": counted.draws,
        "off": sampler.off,
        "estimated_off": right.scale_errors / least,
        "standard_error": 1.0 / least,
        "least_p": right.worst[1],
        "least_p_of": right.worst[0],
        "power": min(power(value) for value in expected),
        "laws_off_missed_by": missed,
        "passed": not right.alarm,
    }


def in_streams() -> dict[str, Any]:
    """Every kind of stream: what those of threads, forks, copies and restarts have in common."""
    with tempfile.TemporaryDirectory() as folder:
        families = streams.drawn(STREAM, Path(folder))
    found = {}
    for kind, of_kind in families.items():
        seen = streams.related(of_kind)
        found[kind] = {
            "streams": len(of_kind),
            "length": STREAM,
            **asdict(seen),
            "passed": not seen.alarm,
            "date": TODAY,
        }
    return found


def attacked() -> dict[str, Any]:
    """Attacks on plain noise and on the gates."""
    return {
        "date": TODAY,
        "attacked": ATTACKED,
        "users": USERS,
        "allowed": allowed(2 * ATTACKED),
        "exclusions": {
            attack: {noise: asdict(outcome) for noise, outcome in outcomes.items()}
            for attack, outcomes in exclusions(ATTACKED).items()
        },
        "lattice": lattices(ATTACKED),
        "moved": moved_sums(),
    }


def passed(found: dict[str, Any]) -> bool:
    """Whether draws and streams were as they must be, and attacks failed where they must."""
    rows = [*found["samplers"].values(), *found["streams"].values()]
    gates = [outcomes["pure gate"] for outcomes in found["attacks"]["exclusions"].values()]
    gates.append(found["attacks"]["exclusions"]["precision"]["Gaussian gate"])
    return (
        all(row["passed"] for row in rows)
        and all(abs(row["wrong"] - row["truth"]) < allowed(row["outputs"]) for row in gates)
        and max(abs(value) for value in found["attacks"]["lattice"]["Gaussian gate"]) < ALARM_ERRORS
        and found["attacks"]["moved"]["gate"] <= 1.0
    )


if __name__ == "__main__":
    sys.exit(main())
