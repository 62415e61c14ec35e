"""All users in memory, on this machine's threads. Every engine must give the same totals, bit by bit."""

from __future__ import annotations

from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.private_half import PrivateHalf
from discreet.methods.question import Question
from discreet.privacy.gaussian.totals import Total, exact_totals

__all__ = ["MemoryEngine"]


class MemoryEngine:
    """Exact totals over all users at once.

    Parameters
    ----------
    private_half
        Of the method.
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, private_half: type[PrivateHalf], ratings: Ratings) -> None:
        self._users = private_half(ratings)

    def totals(self, question: Question[Any]) -> list[Total]:
        """Every user bounded, all added up."""
        return exact_totals(self._users.answer(question))
