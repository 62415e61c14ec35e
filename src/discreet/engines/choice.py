"""Where contributions are added up: in memory, unless they are on disk, or a GPU or a cluster is asked for.

Those are loaded by name, when they are asked for: what a default run neither needs nor loads, nobody has to trust.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from discreet.data.ratings import Ratings
from discreet.engines.memory import MemoryEngine
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.protocol import Engine, Progress

if TYPE_CHECKING:
    from discreet.data.stored import StoredRatings
    from discreet.engines.cluster import Cluster

__all__ = ["AnyRatings", "Place", "engine_of", "place_of"]

AnyRatings: TypeAlias = "Ratings | StoredRatings"
"""Ratings in memory, or prepared on disk."""


class Place(NamedTuple):
    """What a run computes on.

    Parameters
    ----------
    engine
        What adds up the contributions of these users.
    connect
        To be there for as long as the run lasts.
    """

    engine: Callable[[AnyRatings, Progress | None], Engine]
    connect: Callable[[], AbstractContextManager[Any]] = nullcontext


def engine_of(private_half: type[PrivateHalf], ratings: AnyRatings) -> Engine:
    """The engine that adds up these users' contributions, wherever they are."""
    if isinstance(ratings, Ratings):
        return MemoryEngine(private_half, ratings)
    from discreet.engines.disk import DiskEngine

    return DiskEngine(private_half, ratings)


def place_of(
    private_half: type[PrivateHalf],
    gpu_half: str | None,
    method: str,
    engine: Cluster | str | None,
    device: str,
    ratings: AnyRatings,
) -> Place:
    """The place that was asked for, checked before anything is charged; ``gpu_half``, ``method``: of the method."""
    if engine is not None:
        cluster = importlib.import_module("discreet.engines.cluster")
        return Place(*cluster.place_of(private_half, engine, device, ratings))
    if device != "cpu":
        gpu = importlib.import_module("discreet.engines.gpu")
        return Place(gpu.place_of(private_half, gpu_half, method, device))
    return Place(lambda ratings, progress: engine_of(private_half, ratings))
