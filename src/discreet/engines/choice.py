"""Which engine: by where the ratings are, and where they go by how many there are."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.catalogue.packed import STANDARD_INPUT
from discreet.data.ratings import Ratings
from discreet.data.readers import estimate_rows
from discreet.data.stored import StoredRatings
from discreet.engines.disk import DiskEngine
from discreet.engines.memory import MemoryEngine
from discreet.methods.private_half import PrivateHalf

__all__ = ["AnyRatings", "engine_of", "fits_into_memory"]

# Bytes that training in memory may take for each row: some 70 were measured for reading clicks
# (benchmarks/results/scale.md), and ratings have values and residuals beside.
_PER_ROW = 120
# Share of the machine's memory that ratings may take before they stay on disk.
_SHARE = 0.5
_UNKNOWN = 1 << 33  # bytes, where the system does not say
_CGROUP = Path("/sys/fs/cgroup/memory.max")

AnyRatings = Ratings | StoredRatings
"""Ratings in memory, or prepared on disk."""


def engine_of(private_half: type[PrivateHalf], ratings: AnyRatings) -> MemoryEngine | DiskEngine:
    """The engine that adds up these users' contributions, wherever they are."""
    if isinstance(ratings, StoredRatings):
        return DiskEngine(private_half, ratings)
    return MemoryEngine(private_half, ratings)


def fits_into_memory(source: str) -> bool:
    """Whether training on a source would take no more than half of the memory; a guess, from the size of its files."""
    if source == STANDARD_INPUT:
        return True  # how many rows there are is known when all have come
    return _PER_ROW * estimate_rows(source) <= _SHARE * _memory()


def _memory() -> int:
    """Bytes of the machine, or those that this process may have of it."""
    if not hasattr(os, "sysconf"):  # Windows
        return _UNKNOWN
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(whole, int(_CGROUP.read_text()))
    except (OSError, ValueError):  # no limit, or none that is told
        return whole
