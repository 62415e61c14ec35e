"""The private half of a method: what some users contribute to a question. Sees ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from discreet.data.ratings import Ratings
from discreet.methods.question import Question
from discreet.privacy.gaussian.blocks import Block

__all__ = ["PrivateHalf"]


class PrivateHalf(Protocol):
    """Answers any question about any set of users.

    Notes
    -----
    **Privacy**. Blocks are private until a gate has summed and noised them. A user's energies over all blocks of one
    question are at most 1, whatever the question says: the mechanism that builds them sees to that. Contributions of
    one user depend on that user's ratings and on the question alone, so answers of disjoint sets of users add up
    exactly. What is kept between questions is a cache: it can be worked out again from the question.
    """

    def __init__(self, ratings: Ratings) -> None: ...

    def answer(self, question: Question[Any]) -> Sequence[Block]:
        """Integer contributions of these users, in the order in which they are released."""
        ...
