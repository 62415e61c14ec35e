"""The private half of a method: what some users contribute to a query. Sees ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from discreet.data.ratings import Ratings
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.blocks import Block

__all__ = ["PrivateHalf"]


class PrivateHalf(Protocol):
    """Answers any query about any set of users.

    Notes
    -----
    **Privacy**. Blocks are private until a gate has summed and noised them. A user's energies over all blocks of one
    query are at most 1, whatever the query says: the mechanism that builds them sees to that. Contributions of
    one user depend on that user's ratings and on the query alone, so answers of disjoint sets of users add up
    exactly. What is kept between queries is a cache: it can be worked out again from the query.
    """

    def __init__(self, ratings: Ratings) -> None: ...

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Integer contributions of these users, in the order in which they are released."""
        ...
