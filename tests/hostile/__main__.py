"""Attack every reader: ``python -m tests.hostile --total 1000000 --out benchmarks/results/fuzz.json``.

A failure is repeated with ``python -m tests.hostile --seed SEED --kind KIND --number NUMBER``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from discreet import __version__
from tests.hostile.attack import MOST_BYTES, MOST_SECONDS, attack, bound_memory
from tests.hostile.kinds import KINDS

Job = tuple[str, int, int]
"""A kind, and the numbers of its inputs from the first to before the last."""
_PIECE, _BATCH = 1000, 10
"""Inputs that are reported together, and such pieces in a process."""


def main() -> int:
    """Run in children, print, write; 1 if anything failed."""
    options = _options()
    if options.child is not None:
        return _child(options)
    if options.number is not None:
        found = attack(options.kind[0], options.seed, range(options.number, options.number + 1))
        print(json.dumps(vars(found), indent=1).replace("\\n", "\n"))
        return 1 if found.failures else 0
    print(f"seed {options.seed}", flush=True)
    started = time.monotonic()
    names = options.kind or list(KINDS)
    counts = _counts(names, options)
    jobs: list[Job] = [
        (name, first, min(first + _PIECE, count))
        for name, count in counts.items()
        for first in range(0, count, _PIECE)
    ]
    size = _BATCH if options.total is not None else -(-len(jobs) // options.jobs)
    batches = [jobs[start : start + size] for start in range(0, len(jobs), size)]
    with ThreadPoolExecutor(options.jobs) as pool:
        parts = [
            part for batch in pool.map(lambda batch: _run(batch, options.seed), batches) for part in batch
        ]
    record = _record(names, parts, options.seed, time.monotonic() - started)
    for name, entry in record["kinds"].items():
        print(f"{name:22} {entry}", flush=True)
    print(f"{record['inputs']:,} inputs, {record['failed']:,} failed, {record['seconds']:.0f} s")
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if record["failed"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="inputs of each kind")
    parser.add_argument("--total", type=int, help="inputs in all, shared out by how fast a kind is read")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--number", type=int, help="this input of --kind alone, in this process")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--out", type=Path, help="write the counts there")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def _counts(names: list[str], options: argparse.Namespace) -> dict[str, int]:
    if options.total is None:
        return dict.fromkeys(names, options.count)
    weights = sum(KINDS[name].weight for name in names)
    return {name: -(-options.total * KINDS[name].weight // weights) for name in names}


def _run(jobs: list[Job], seed: int) -> list[dict[str, Any]]:
    """All jobs in one child; where it dies, the next child goes on behind the input that killed it."""
    parts: list[dict[str, Any]] = []
    left = list(jobs)
    while left:
        with tempfile.NamedTemporaryFile() as progress:
            child = subprocess.run(
                [*_PYTHON, "--seed", str(seed), "--child", json.dumps([progress.name, left])],
                capture_output=True,
                env={**os.environ, **_ONE_THREAD},
                check=False,
            )
            done = [json.loads(line) for line in child.stdout.decode().splitlines()]
            parts += done
            left = left[len(done) :]
            if left:
                name, first, last = left.pop(0)
                number = int.from_bytes(Path(progress.name).read_bytes(), "little")
                words = f"{number}: the process died ({child.returncode}): {child.stderr.decode()[-2000:]}"
                aborted = KINDS[name].may_abort and child.returncode == -signal.SIGABRT
                outcome = {"aborted" if aborted else "failed": 1}
                parts.append(
                    {"kind": name, "tried": 1, "outcomes": outcome, "failures": [] if aborted else [words]}
                )
                left = [
                    (name, *ends) for ends in ((first, number), (number + 1, last)) if ends[0] < ends[1]
                ] + left
    for part in parts:
        for failure in part["failures"]:
            print(
                f"FAILED: --seed {seed} --kind {part['kind']!r} --number {failure}",
                file=sys.stderr,
                flush=True,
            )
    print(
        f"{sum(part['tried'] for part in parts):,} of {', '.join({job[0] for job in jobs})}",
        file=sys.stderr,
        flush=True,
    )
    return parts


_PYTHON = (sys.executable, "-W", "error", "-m", "tests.hostile")
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"), "1")


def _child(options: argparse.Namespace) -> int:
    place, jobs = json.loads(options.child)
    progress = os.open(place, os.O_WRONLY)
    bound_memory()
    for name, first, last in jobs:
        found = attack(name, options.seed, range(first, last), progress)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"kind": name, "peak_mebibytes": peak // 1024, **vars(found)}), flush=True)
    return 0


def _record(names: list[str], parts: list[dict[str, Any]], seed: int, seconds: float) -> dict[str, Any]:
    kinds = {}
    for name in names:
        mine = [part for part in parts if part["kind"] == name]
        tally = {word: sum(part["outcomes"].get(word, 0) for part in mine) for word in _OUTCOMES}
        kinds[name] = {
            "tried": sum(part["tried"] for part in mine),
            **tally,
            "slowest_seconds": round(max(part.get("slowest_seconds", 0.0) for part in mine), 3),
            "peak_mebibytes": max(part.get("peak_mebibytes", 0) for part in mine),
        }
    return {
        "version": __version__,
        "python": platform.python_version(),
        "seed": seed,
        "seconds": round(seconds),
        "most_seconds_an_input": MOST_SECONDS,
        "most_mebibytes_beside_libraries": MOST_BYTES >> 20,
        "inputs": sum(entry["tried"] for entry in kinds.values()),
        "failed": sum(len(part["failures"]) for part in parts),
        "kinds": kinds,
    }


_OUTCOMES = ("refused", "same", "other", "aborted", "failed")

if __name__ == "__main__":
    sys.exit(main())
