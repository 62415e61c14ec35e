"""What users contribute to private EASE: what they liked, one by one and in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.ease.public.queries import CountsQuery, PairsQuery
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.blocks import Block, Pattern
from discreet.types import Bools, Shorts

__all__ = ["EASEContributions"]


class EASEContributions:
    """Integer contributions of some users to counts, and to pairs of a head of items.

    Parameters
    ----------
    ratings
        Private, over a public catalogue. A rating counts by how far it says that the item was liked
        (`RatingScale.liked`); what was not liked is not there.
    """

    def __init__(self, ratings: Ratings) -> None:
        values = ratings.scale.liked(ratings.values)
        self._rows = Pattern(ratings.indptr, ratings.items, ratings.n_items), values
        if not (values > 0).all():
            self._rows = _kept(*self._rows, values > 0)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, CountsQuery):
            return query.mechanism.blocks(*self._rows)
        assert isinstance(query, PairsQuery)
        pattern, values = self._rows
        place = np.full(pattern.n_items, -1, np.int32)
        place[query.head] = np.arange(len(query.head), dtype=np.int32)
        inside = place[pattern.items] >= 0
        pattern, values = _kept(pattern, values, inside)
        # The head is ascending, so a user's items still are.
        renamed = Pattern(pattern.indptr, place[pattern.items], len(query.head))
        return query.mechanism.blocks(renamed, values)


def _kept(pattern: Pattern, values: Shorts, kept: Bools) -> tuple[Pattern, Shorts]:
    """The same users with these entries alone."""
    before = np.concatenate([[0], np.cumsum(kept)])
    return Pattern(before[pattern.indptr], pattern.items[kept], pattern.n_items), values[kept]
