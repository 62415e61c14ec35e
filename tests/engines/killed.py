"""Runs that are killed with SIGKILL, again and again, until their model is there. A program, in real processes.

A parent that has imported everything and computed nothing forks a child for each attempt: `train` from a file, on disk,
with a ledger. It kills the child at a moment of its choice and looks at what is left.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from discreet.catalogue.columns import Columns
from discreet.data import preparation, prepare
from discreet.data.rules import ROW_BY_ROW
from discreet.methods.budgeted.private.contributions import BudgetedALS
from discreet.methods.checkpoint import Checkpoint
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.noise import Noise

BUDGET = Budget(4.0, 1e-6)
# What is about to happen, or has just happened, at the moments that a proof speaks of.
INSTANTS: dict[str, tuple[Any, str, str]] = {
    "before a block is noted": (preparation, "BlockEntry", "before"),
    "before an intent": (Checkpoint, "intend", "before"),
    "after an intent": (Checkpoint, "intend", "after"),
    "after a charge": (LedgerRun, "charge", "after"),
    "after noise was drawn": (Noise, "_next_key", "after"),
    "before a release is stored": (Checkpoint, "keep", "before"),
    "between a release and its record": (Checkpoint, "_write", "before a record"),
    "after a release is stored": (Checkpoint, "keep", "after"),
}


def method() -> BudgetedALS:
    return BudgetedALS(rank=2, rounds=3)


def attempt(place: Path, engine: str | None = None) -> None:
    """Prepare, train, and save, or go on with that."""
    from discreet.catalogue import Catalogue

    catalogue = Catalogue(json.loads((place / "items.json").read_text()))
    ratings = prepare(
        str(place / "ratings.parquet"),
        place / "blocks",
        Columns("user", "item", "rating"),
        rating_range=(1.0, 5.0),
        catalogue=catalogue,
        rules=ROW_BY_ROW,
        block_ratings=1_200,
        run_rows=1_000,
    )
    ledger, run = place / "people.ledger", place / "run"
    fitted = method().fit(ratings, BUDGET, rng=3, ledger=ledger, checkpoint=run, engine=engine)
    fitted.model_.save(place / "model", overwrite=True)


def killed_at(place: Path, instant: str, count: int, engine: str | None = None) -> int:
    """Let a child run until it has come to an instant for the ``count``-th time; gives its status."""
    return _child(place, lambda: _plant(instant, count), None, engine)


def killed_after(place: Path, seconds: float | None, engine: str | None = None) -> int:
    """Let a child run for so long, or to its end; gives its status."""
    return _child(place, lambda: None, seconds, engine)


def _child(place: Path, begin: Any, seconds: float | None, engine: str | None) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            begin()
            attempt(place, engine)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    status: int = os.waitpid(child, 0)[1]
    if status not in (0, signal.SIGKILL):
        raise SystemExit("a child failed otherwise than by being killed")
    return status


def _plant(instant: str, count: int) -> None:
    owner, name, when = INSTANTS[instant]
    one, left = getattr(owner, name), [count]

    def planted(*given: Any, **named: Any) -> Any:
        counts = when != "before a record" or getattr(given[-1], "sha256", None) is not None
        left[0] -= counts
        if when == "after":
            result = one(*given, **named)
        if left[0] == 0 and counts:
            os.kill(os.getpid(), signal.SIGKILL)
        return result if when == "after" else one(*given, **named)

    setattr(owner, name, planted)


def releases(place: Path) -> list[str]:
    """Digests of the releases that are on the disk, in order, those included that have no record yet."""
    for path in sorted((place / "run").glob("[0-9]*.json")):
        record = json.loads(path.read_text())
        assert ("secret" in record) != ("sha256" in record)
    files = sorted((place / "run").glob("[0-9]*.safetensors"))
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--instant", choices=INSTANTS)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--engine", choices=["ray"])
    given = parser.parse_args()
    seen: list[list[str]] = []
    if given.instant is not None:
        statuses = [killed_at(given.folder, given.instant, given.count, given.engine)]
        seen.append(releases(given.folder))
        statuses.append(killed_after(given.folder, None, given.engine))
    else:
        rng, statuses = random.Random(given.seed), []
        # From a moment to somewhat more than an attempt may take: how far a child comes is the machine's business.
        longest = 0.2
        for _ in range(given.kills):
            statuses.append(killed_after(given.folder, rng.uniform(0.0, longest)))
            longest = min(longest * 1.5, 4.0)
            seen.append(releases(given.folder))
            if statuses[-1] == 0:
                break
        statuses.append(killed_after(given.folder, None))
    seen.append(releases(given.folder))
    print(json.dumps({"seen": seen, "statuses": statuses}))


if __name__ == "__main__":
    main()
