"""The private half of budgeted ALS: what the holder of ratings contributes to one query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.private.user_side import user_statistics
from discreet.methods.budgeted.public.queries import ActivityQuery, RoundQuery
from discreet.methods.query import Query
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.pattern import Pattern

__all__ = ["BudgetedContributions"]


class BudgetedContributions:
    """Integer contributions of some users to any query of budgeted ALS.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings
        self._pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query, in the order in which they are released."""
        ratings, pattern = self._ratings, self._pattern
        if isinstance(query, ActivityQuery):
            return query.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))
        assert isinstance(query, RoundQuery)
        users = user_statistics(ratings, pattern, query.side, query.frame)
        spread = users.spread / query.frame.residual
        return query.mechanism.blocks(pattern, users.features, users.residuals, spread, pattern.counts)
