"""Where contributions are added up: here, unless a GPU or a cluster is asked for.

Those two are loaded by name, when they are asked for: what a default run neither needs nor loads, nobody has to trust.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from discreet.data.ratings import Ratings
from discreet.data.stored import StoredRatings
from discreet.engines.disk import DiskEngine
from discreet.engines.memory import MemoryEngine
from discreet.methods.private_half import PrivateHalf
from discreet.methods.protocol import Engine, Progress

if TYPE_CHECKING:
    from discreet.engines.cluster import Cluster

__all__ = ["AnyRatings", "Here", "Place", "engine_of", "place_of"]

AnyRatings = Ratings | StoredRatings
"""Ratings in memory, or prepared on disk."""


class Place(Protocol):
    """What a run computes on."""

    def connect(self) -> AbstractContextManager[Any]:
        """Be there for as long as the run lasts."""
        ...

    def engine(self, ratings: AnyRatings, progress: Progress | None = None) -> Engine:
        """What adds up these users' contributions."""
        ...


@dataclass(frozen=True)
class Here:
    """This machine's processors."""

    private_half: type[PrivateHalf]

    def connect(self) -> AbstractContextManager[Any]:
        """Nothing to connect to."""
        return nullcontext()

    def engine(self, ratings: AnyRatings, progress: Progress | None = None) -> Engine:
        """In memory or on disk, as the ratings are."""
        return engine_of(self.private_half, ratings)


def engine_of(private_half: type[PrivateHalf], ratings: AnyRatings) -> MemoryEngine | DiskEngine:
    """The engine that adds up these users' contributions, wherever they are."""
    if isinstance(ratings, StoredRatings):
        return DiskEngine(private_half, ratings)
    return MemoryEngine(private_half, ratings)


def place_of(
    private_half: type[PrivateHalf],
    gpu_half: str | None,
    method: str,
    engine: Cluster | str | None,
    device: str,
    ratings: AnyRatings,
) -> Place:
    """The place that was asked for, checked before anything is charged; ``gpu_half``, ``method``: of the method."""
    if engine is None and device == "cpu":
        return Here(private_half)
    room = importlib.import_module(f"discreet.engines.{'gpu' if engine is None else 'cluster'}")
    place: Place = room.place_of(private_half, gpu_half, method, engine, device, ratings)
    return place
