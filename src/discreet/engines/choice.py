"""Which engine: by where the ratings are, and where they go by how many there are."""

from __future__ import annotations

from discreet.data.blocks.stored import StoredRatings
from discreet.data.ratings import Ratings
from discreet.engines.disk import DiskEngine
from discreet.engines.memory import MemoryEngine
from discreet.methods.private_half import PrivateHalf

__all__ = ["AnyRatings", "engine_of"]

AnyRatings = Ratings | StoredRatings
"""Ratings in memory, or prepared on disk."""


def engine_of(private_half: type[PrivateHalf], ratings: AnyRatings) -> MemoryEngine | DiskEngine:
    """The engine that adds up these users' contributions, wherever they are."""
    if isinstance(ratings, StoredRatings):
        return DiskEngine(private_half, ratings)
    return MemoryEngine(private_half, ratings)
