"""Users on disk, a block at a time: memory is bounded by the items' statistics and a few blocks."""

from __future__ import annotations

from typing import Any

from discreet.data.blocks.stored import StoredRatings
from discreet.methods.private_half import PrivateHalf
from discreet.methods.question import Question
from discreet.privacy.gaussian.totals import Total, add_totals, exact_totals

__all__ = ["DiskEngine"]


class DiskEngine:
    """Exact totals in one pass over the blocks; the next block is read and checked while the last is worked on.

    Parameters
    ----------
    private_half
        Of the method. What it keeps between questions is a cache, which is not kept here.
    ratings
        Private, prepared over a public catalogue.
    """

    def __init__(self, private_half: type[PrivateHalf], ratings: StoredRatings) -> None:
        self._half, self._ratings = private_half, ratings

    def totals(self, question: Question[Any]) -> list[Total]:
        """Every user bounded, all added up."""
        blocks = self._ratings.blocks()
        total = exact_totals(self._half(next(blocks)).answer(question))
        for ratings in blocks:
            total = add_totals(total, exact_totals(self._half(ratings).answer(question)))
        return total
