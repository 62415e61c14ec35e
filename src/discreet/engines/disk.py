"""Users on disk, a block at a time: memory is bounded by the items' statistics and a few blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from discreet.data.ratings import Ratings
from discreet.data.stored import StoredRatings
from discreet.engines.memory import MemoryEngine
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.totals import Total

__all__ = ["BlockEngine", "DiskEngine"]


class BlockEngine(Protocol):
    """What adds up the users of one block."""

    def totals(self, query: Query[Any], onto: Sequence[Total] | None = None) -> list[Total]:
        """Every user bounded, all added up; to totals of other users in place, where there are any."""
        ...


class DiskEngine:
    """Exact totals in one pass over the blocks; the next block is read and checked while the last is worked on.

    Parameters
    ----------
    private_half
        Of the method. What it keeps between queries is a cache, which is not kept here.
    ratings
        Private, prepared over a public catalogue.
    block_engine
        Makes the engine of each block; the CPU's by default.
    """

    def __init__(
        self,
        private_half: type[PrivateHalf],
        ratings: StoredRatings,
        block_engine: Callable[[Ratings], BlockEngine] | None = None,
    ) -> None:
        self._engine = block_engine or (lambda block: MemoryEngine(private_half, block))
        self._ratings = ratings

    def totals(self, query: Query[Any]) -> list[Total]:
        """Every user bounded, all added up."""
        totals: list[Total] | None = None
        for ratings in self._ratings.blocks():
            totals = self._engine(ratings).totals(query, totals)
        assert totals is not None
        return totals
