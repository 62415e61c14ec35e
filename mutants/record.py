"""What became of every bug, kept while the command runs and written down at its end."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mutants.mutant import Mutant
from mutants.trial import Outcome
from mutants.workshop import ROOT, SOURCES

__all__ = ["Record", "written"]


class Record:
    """Outcomes by what they were the outcome of: the bug, the file it is in, and the files of its tests.

    Parameters
    ----------
    path
        A file; what is in it is believed only for bugs that nothing has changed about.
    fresh
        Whether to forget what is in it.
    """

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self._path, self._lock = path, threading.Lock()
        self._known: dict[str, dict[str, Any]] = {}
        if not fresh and path.exists():
            self._known = json.loads(path.read_text())

    def killed(self, mutant: Mutant) -> Outcome | None:
        """The outcome of an earlier run, where the bug was found by its tests as they are now."""
        known = self._known.get(_key(mutant))
        return Outcome(**known) if known is not None and known["verdict"] == "killed" else None

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep an outcome, on the disk when this returns."""
        with self._lock:
            self._known[_key(mutant)] = asdict(outcome)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps(self._known, indent=1))
            os.replace(new, self._path)


def written(mutants: Sequence[Mutant], outcomes: Sequence[Outcome], facts: dict[str, Any]) -> str:
    """All of it as JSON, for people and for documents."""
    rows = [
        {
            "room": mutant.room,
            "name": mutant.name,
            "breaks": mutant.breaks,
            "verdict": outcome.verdict,
            "by": outcome.by,
            "seconds": outcome.seconds,
        }
        for mutant, outcome in zip(mutants, outcomes, strict=True)
    ]
    killed = sum(outcome.verdict == "killed" for outcome in outcomes)
    whole = {**facts, "planted": len(rows), "killed": killed, "mutants": rows}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _key(mutant: Mutant) -> str:
    files = sorted({test.split("::")[0] for test in mutant.tests})
    tests = [path.read_text() for file in files for path in _python(ROOT / "tests" / file)]
    text = (SOURCES / "discreet" / mutant.file).read_text()
    return mutant.digest(text) + hashlib.sha256("".join(tests).encode()).hexdigest()[:16]


def _python(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]
