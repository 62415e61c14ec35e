"""One bug, the tests that should see it, and what came of it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants.mutant import Mutant
from mutants.workshop import Workshop
from mutants.zygote import FELL

__all__ = ["Outcome", "run_tests", "try_mutant"]

# A bug may make a test hang; whoever notices only that has not seen it.
_LONGEST = 600.0


@dataclass(frozen=True)
class Outcome:
    """What became of one bug.

    ``verdict`` is ``"killed"``, ``"survived"``, or why it cannot be said. ``by`` is the test that failed first.
    """

    name: str
    verdict: str
    by: str = ""
    said: str = ""
    seconds: float = 0.0


def try_mutant(workshop: Workshop, mutant: Mutant) -> Outcome:
    """Plant it and run its tests until the first one fails."""
    started = time.monotonic()
    with workshop.planted(mutant) as environment:
        code, seen = run_tests(workshop, environment, mutant.tests, mutant.only)
    verdict, first = _verdict(mutant, code, seen)
    seconds = round(time.monotonic() - started, 1)
    return Outcome(mutant.name, verdict, first.get("test", ""), first.get("said", ""), seconds)


def run_tests(
    workshop: Workshop,
    environment: dict[str, str],
    tests: tuple[str, ...],
    only: str | None,
    *,
    stop: bool = True,
) -> tuple[int | None, dict[str, Any]]:
    """The exit code of pytest, ``None`` where it took too long, and what the witness saw."""
    arguments = ["-q", "-p", "mutants.witness", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
    # Packages are imported before pytest could rewrite them; its own tests are not.
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    arguments += ["--tb=line", "--hypothesis-seed=0", *(["-x"] if stop else [])]
    arguments += [f"tests/{test}" for test in tests] + (["-k", only] if only else [])
    code = workshop.zygote.run(arguments, environment, _LONGEST if stop else 10 * _LONGEST)
    witness = Path(environment["MUTANT_WITNESS"])
    return code, json.loads(witness.read_text()) if witness.exists() else {}


def _verdict(mutant: Mutant, code: int | None, seen: dict[str, Any]) -> tuple[str, dict[str, str]]:
    first: dict[str, str] = next(iter(seen.get("failed", [])), {})
    if code is None:
        return "no end: a test hung", first
    if first.get("said") == "cannot be collected":
        return "broken: the tests cannot be read with it", first
    # A test that fails may leave a file open, over which pytest itself falls at its end.
    failed = code == 1 or (code == FELL and first)
    if failed and not seen.get("copy", False):
        return "broken: the tests ran another copy of the sources", first
    if failed:
        return "killed", first
    if code == 0:
        return "survived", first
    return f"broken: pytest ended with {code}", first
