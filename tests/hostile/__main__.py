"""Attack every reader: ``python -m tests.hostile --count 50000 --out benchmarks/results/fuzz.json``.

A failure is repeated with ``python -m tests.hostile --seed SEED --kind KIND --number NUMBER``.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from discreet import __version__
from tests.hostile.attack import attack, bound_memory
from tests.hostile.kinds import KINDS

_PYTHON = (sys.executable, "-W", "error", "-m", "tests.hostile")
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"), "1")


def main() -> int:
    """Run every kind in a child, print, write; 1 if anything failed."""
    options = _options()
    if options.child is not None:
        return _child(options)
    if options.number is not None:
        found = attack(options.kind[0], options.seed, range(options.number, options.number + 1))
        print(json.dumps(vars(found), indent=1).replace("\\n", "\n"))
        return 1 if found.failures else 0
    print(f"seed {options.seed}", flush=True)
    started, kinds, failed = time.monotonic(), {}, 0
    for name in options.kind or list(KINDS):
        outcomes, failures = _run(name, options.count, options.seed)
        for failure in failures:
            print(f"FAILED: --seed {options.seed} --kind {name!r} --number {failure}", file=sys.stderr)
        kinds[name] = {
            word: outcomes[word] for word in ("tried", "refused", "same", "other", "aborted", "failed")
        }
        failed += len(failures)
        print(f"{name:22} {kinds[name]}", flush=True)
    record = {
        "version": __version__,
        "seed": options.seed,
        "seconds": round(time.monotonic() - started),
        "inputs": sum(entry["tried"] for entry in kinds.values()),
        "failed": failed,
        "kinds": kinds,
    }
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="inputs of each kind")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--number", type=int, help="this input of --kind alone, in this process")
    parser.add_argument("--out", type=Path, help="write the counts there")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(name: str, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """One kind in a child; where it dies, the next child goes on behind the input that killed it."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    first = 0
    while first < count:
        with tempfile.NamedTemporaryFile() as progress:
            child = subprocess.run(
                [*_PYTHON, "--seed", str(seed), "--child", json.dumps([progress.name, name, first, count])],
                capture_output=True,
                env={**os.environ, **_ONE_THREAD},
                check=False,
            )
            number = int.from_bytes(Path(progress.name).read_bytes(), "little")
        if child.returncode == 0:
            found: dict[str, Any] = json.loads(child.stdout)
            outcomes.update(found["outcomes"], tried=found["tried"])
            return outcomes, failures + found["failures"]
        aborted = KINDS[name].may_abort and child.returncode == -signal.SIGABRT
        outcomes.update({"aborted" if aborted else "failed": 1}, tried=number + 1 - first)
        if not aborted:
            said = child.stderr.decode()[-2000:]
            failures.append(f"{number}: the process died ({child.returncode}): {said}")
        first = number + 1
    return outcomes, failures


def _child(options: argparse.Namespace) -> int:
    place, name, first, last = json.loads(options.child)
    progress = os.open(place, os.O_WRONLY)
    bound_memory()
    print(json.dumps(vars(attack(name, options.seed, range(first, last), progress))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
