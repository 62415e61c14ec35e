"""One kind of input, many times over, in a process with bounded memory; what went wrong can be repeated by its number.

Input ``number`` of a kind under a seed is always the same, whatever was tried before it.
"""

from __future__ import annotations

import collections
import faulthandler
import os
import resource
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.hostile.kind import Kind
from tests.hostile.kinds import KINDS

__all__ = ["MOST_BYTES", "MOST_SECONDS", "Outcomes", "attack", "bound_memory"]

MOST_BYTES = 2 << 30
"""Address space beside what the loaded libraries take."""
MOST_SECONDS = 10.0
"""Of processor time for one input."""
_PATIENCE = 300.0
_ENOUGH = 20


@dataclass
class Outcomes:
    """What came of the inputs of one kind."""

    tried: int = 0
    outcomes: dict[str, int] = field(default_factory=collections.Counter)
    slowest_seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    def fail(self, number: int, words: str) -> None:
        """Keep a failure, if it is not one more of the same."""
        alike = [failure.partition(": ")[2].splitlines()[-3:] for failure in self.failures]
        if words.splitlines()[-3:] not in alike and len(self.failures) < _ENOUGH:
            self.failures.append(f"{number}: {words}")


def bound_memory() -> None:
    """From here on the process may take as much as it has, and `MOST_BYTES` more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def attack(name: str, seed: int, numbers: range, progress: int | None = None) -> Outcomes:
    """Try the inputs of a kind with these numbers; failures that end alike are kept once.

    Parameters
    ----------
    progress
        An open file: the number under way is written to it, for whoever finds this process dead.
    """
    found = Outcomes()
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        kind = KINDS[name](Path(folder))
        for number in numbers:
            if progress is not None:
                os.pwrite(progress, number.to_bytes(8, "little"), 0)
            if number % 50 == 0:
                faulthandler.dump_traceback_later(_PATIENCE, exit=True)
            started = time.process_time()
            outcome = _outcome(kind, Random(f"{seed}/{name}/{number}"), found, number)
            seconds = time.process_time() - started
            if seconds > MOST_SECONDS:
                found.fail(number, f"took {seconds:.1f} s")
            found.slowest_seconds = max(found.slowest_seconds, seconds)
            found.tried += 1
            found.outcomes[outcome] += 1
        faulthandler.cancel_dump_traceback_later()
    return found


def _outcome(kind: Kind, draw: Random, found: Outcomes, number: int) -> str:
    try:
        outcome: str = kind.attempt(draw)
    except kind.refusals as error:
        if getattr(error, "exit_code", 2) == 2:
            return "refused"
        found.fail(number, f"ends with exit code {getattr(error, 'exit_code', None)}")
    except BaseException as error:  # panics of libraries are no Exceptions
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        found.fail(number, "".join(traceback.format_exception(error, limit=-6))[-2500:].rstrip())
    else:
        if outcome == "same" or kind.may_differ:
            return outcome
        found.fail(number, "something altered was accepted")
    return "failed"


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
