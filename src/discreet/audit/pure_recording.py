"""Gates that write down what is private before noise, and that play released outcomes back to a neighbour.

Two neighbouring silos that are shown the same outcomes go through the same mechanisms. What differs between them
before noise is then exactly what each mechanism's bound is about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.privacy.ledger import PureLedger
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.noise import PureNoise

__all__ = ["ONE_SIDED", "Record", "RecordingGate", "Tape", "change"]

ONE_SIDED = ("support", "centre swap", "choice among trials")
"""Releases whose bound is on the largest rise, and that nothing lowers; all others' is on the sum of all changes."""


@dataclass
class Record:
    """One release: its charge and bound, what was private, and what came out."""

    name: str
    epsilon: float
    bound: int
    exact: Any
    released: Any


@dataclass
class Tape:
    """All releases of a run, in order, and what the silo made of them."""

    records: list[Record] = field(default_factory=list)
    outcome: Any = None


class RecordingGate(PureGate):
    """The real gate, written down; with `replay` it gives out another run's outcomes instead of its own."""

    def __init__(self, epsilon: float, noise: PureNoise | None = None, replay: Tape | None = None) -> None:
        super().__init__(PureLedger(epsilon), noise)
        self.tape = Tape()
        self._replay = None if replay is None else iter(replay.records)

    def _release(
        self, name: str, epsilon: float, bound: int, exact: Callable[[], Any], noisy: Callable[[Any], Any]
    ) -> Any:
        private: list[Any] = []

        def recorded() -> Any:
            private.append(exact())
            return private[0]

        def out(value: Any) -> Any:
            own = noisy(value)
            return own if self._replay is None else next(self._replay).released

        released = super()._release(name, epsilon, bound, recorded, out)
        self.tape.records.append(Record(name, epsilon, bound, private[0], released))
        return released


def change(with_user: Record, without: Record) -> tuple[int, int, bool]:
    """How far a release moved before noise: in all (L1), at most in one entry, and whether nothing went down."""
    if with_user.name == "partition level":
        counts: dict[bytes, int] = {}
        for record, sign in ((with_user, 1), (without, -1)):
            for key, count in zip(*record.exact, strict=True):
                counts[key.tobytes()] = counts.get(key.tobytes(), 0) + sign * int(count)
        moved = np.array(list(counts.values()) or [0])
    else:
        moved = np.asarray(with_user.exact - without.exact).ravel()
    return int(np.abs(moved).sum()), int(np.abs(moved).max()), bool((moved >= 0).all())
