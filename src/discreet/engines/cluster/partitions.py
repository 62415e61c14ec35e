"""Which worker answers for which blocks of users, and where it runs."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Place", "place_workers", "share_blocks"]


class Place(NamedTuple):
    """Where a worker starts, and how many threads it has."""

    node: str
    threads: int


def share_blocks(sizes: Sequence[int], workers: int) -> list[list[int]]:
    """Numbers of the blocks of each worker: the largest first, each to the worker that has least; none without blocks.

    Parameters
    ----------
    sizes
        Ratings of each block.
    workers
        At most so many shares.
    """
    shares: list[list[int]] = [[] for _ in range(min(workers, len(sizes)))]
    least = [(0, place) for place in range(len(shares))]
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        load, place = heapq.heappop(least)
        shares[place].append(number)
        heapq.heappush(least, (load + sizes[number] + 1, place))
    return [sorted(share) for share in shares]


def place_workers(processors: Mapping[str, int], workers: int | None) -> list[Place]:
    """A worker for each processor, or so many workers with the processors shared among them.

    Parameters
    ----------
    processors
        Of each node.
    workers
        How many; ``None``: as many as there are processors.
    """
    most = max(processors.values())
    slots = [node for turn in range(most) for node, count in processors.items() if turn < count]
    chosen = [slots[number % len(slots)] for number in range(workers or len(slots))]
    return [Place(node, max(1, processors[node] // chosen.count(node))) for node in chosen]
