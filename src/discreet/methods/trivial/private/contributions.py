"""What users contribute to the queries of the trivial methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.query import Query
from discreet.methods.shared.private.sample import pattern_of
from discreet.methods.trivial.public.train import ChoicesQuery, MeanOfMeansQuery, TalliesQuery
from discreet.privacy.gaussian.blocks import Block

__all__ = ["TrivialContributions"]


class TrivialContributions:
    """Integer contributions of some users to a mean, to each item's mean or to popularity.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings, self._pattern = ratings, pattern_of(ratings)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, ChoicesQuery):
            return query.mechanism.blocks(self._pattern)
        assert isinstance(query, MeanOfMeansQuery | TalliesQuery)
        scaled = self._ratings.scale.scaled(self._ratings.values)
        return query.mechanism.blocks(self._pattern, scaled)
