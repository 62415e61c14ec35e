"""The private half of budgeted ALS: what the holder of ratings contributes to one question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.private.user_side import user_statistics
from discreet.methods.budgeted.public.questions import ActivityQuestion, RoundQuestion
from discreet.methods.question import Question
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.pattern import Pattern

__all__ = ["BudgetedAnswers"]


class BudgetedAnswers:
    """Integer contributions of some users to any question of budgeted ALS.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings
        self._pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)

    def answer(self, question: Question[Any]) -> Sequence[Block]:
        """Contributions to this question, in the order in which they are released."""
        ratings, pattern = self._ratings, self._pattern
        if isinstance(question, ActivityQuestion):
            return question.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))
        assert isinstance(question, RoundQuestion)
        users = user_statistics(ratings, pattern, question.side, question.frame)
        spread = users.spread / question.frame.residual
        return question.mechanism.blocks(pattern, users.features, users.residuals, spread, pattern.counts)
