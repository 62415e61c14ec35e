"""What an experiment is given: how large to run, on which data, with which seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from reproduction.datasets.lookup import Dataset, find_dataset, market

Size = Literal["quick", "full"]
T = TypeVar("T")
TRIALS: Mapping[Size, int] = {"quick": 3, "full": 25}
"""Tuning trials of everything that is tuned, with and without privacy, at every size and epsilon."""
LEAST_DRAWS: Mapping[Size, int] = {"quick": 2, "full": 3}
"""Noise draws behind every line, at least."""


def _silent(stage: str, done: int, total: int) -> None:
    pass


@dataclass
class Context:
    """The circumstances of a run."""

    size: Size = "full"
    data: Path | None = None
    seed: int = 0
    draws: int | None = None
    report: Callable[[str, int, int], None] = _silent
    used: list[Dataset] = field(default_factory=list)
    tuned: int | None = None

    @property
    def quick(self) -> bool:
        """Whether this is a quick run."""
        return self.size == "quick"

    def fresh(self) -> Context:
        """The same circumstances for another experiment, no data set used so far."""
        return replace(self, used=[], tuned=None)

    def reporting(self, report: Callable[[str, int, int], None]) -> Context:
        """The same circumstances, reporting elsewhere."""
        return replace(self, report=report)

    def pick(self, *, quick: T, full: T) -> T:
        """One of two settings, by size."""
        return quick if self.quick else full

    def number_of_draws(self, *, quick: int = LEAST_DRAWS["quick"], full: int = LEAST_DRAWS["full"]) -> int:
        """Repetitions of each private run: what was asked for, or the experiment's own number."""
        if self.draws is None:
            self.draws = max(self.pick(quick=quick, full=full), LEAST_DRAWS[self.size])
        return self.draws

    def number_of_trials(self) -> int:
        """Tuning trials of each method at each point, the same for all; the record says how many."""
        self.tuned = TRIALS[self.size]
        return self.tuned

    def seed_for(self, *purpose: object) -> int:
        """A seed of its own for each purpose, so that more of one thing does not change another."""
        text = "/".join(str(part) for part in (self.seed, *purpose))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")

    def rng(self, *purpose: object) -> np.random.Generator:
        """A generator of its own for each purpose."""
        return np.random.default_rng(self.seed_for(*purpose))

    def dataset(self, name: str, *, quick_users: int | None = None) -> Dataset:
        """The data set of that name, or the nearest that is at hand; its sentence says which and why."""
        found = find_dataset(name, self.data, self.quick, self.seed)
        return self._use(found, quick_users)

    def market(self, *, quick_users: int | None = None) -> Dataset:
        """The skewed synthetic market, wanted for itself and not in place of something."""
        return self._use(market(self.quick, self.seed), quick_users)

    def _use(self, found: Dataset, quick_users: int | None) -> Dataset:
        if self.quick and quick_users is not None:
            found = found.some_users(quick_users, self.rng("quick users"))
        self.used.append(found)
        return found
