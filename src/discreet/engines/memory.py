"""All users in memory, on this machine's threads. Every engine must give the same totals, bit by bit."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import UnchargedRelease
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.totals import Total, exact_totals, same_contributions

__all__ = ["MemoryEngine", "check_sample"]

# Users who are computed again for each query: so many at most, and one of so many.
_MOST, _ONE_OF = 64, 50


class MemoryEngine:
    """Exact totals over all users at once.

    Parameters
    ----------
    private_half
        Of the method.
    ratings
        Private, over a public catalogue.

    Notes
    -----
    **Privacy**. What a random sample contributes is computed again among themselves; a difference stops the run
    before there is noise: one user's numbers then depend on others, and no bound on a user is one on a sum.
    """

    def __init__(self, private_half: type[PrivateHalf], ratings: Ratings) -> None:
        self._half, self._ratings = private_half, ratings
        self._users = private_half(ratings)

    def totals(self, query: Query[Any], onto: Sequence[Total] | None = None) -> list[Total]:
        """Every user bounded, all added up; to totals of other users in place, where there are any."""
        blocks = self._users.contributions(query)
        check_sample(query, blocks, self._ratings, lambda few: self._half(few).contributions(query))
        return exact_totals(blocks, onto)


def check_sample(
    query: Query[Any],
    blocks: Sequence[Block],
    ratings: Ratings,
    alone: Callable[[Ratings], Sequence[Block]],
) -> None:
    """Stop where some users of a batch contribute something else among themselves (``alone``).

    Who is in the sample is drawn from the system's entropy, and told nobody.
    """
    number = min(_MOST, max(2, ratings.n_users // _ONE_OF), ratings.n_users)
    users = np.array(secrets.SystemRandom().sample(range(ratings.n_users), number), dtype=np.int64)
    if not same_contributions(blocks, users, alone(ratings.take_users(users))):
        raise UnchargedRelease(
            f"{query.name}: what some user contributes depends on who else is there, so a sum over users is not "
            "bounded by what one of them adds; nothing was released. This is a bug of the method: report it"
        )
