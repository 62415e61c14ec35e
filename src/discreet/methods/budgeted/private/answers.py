"""The private half of budgeted ALS: what the holder of ratings contributes to one question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.private.activity import activity_block
from discreet.methods.budgeted.private.user_side import user_statistics
from discreet.methods.budgeted.public.schedule import ActivityQuestion, Question
from discreet.privacy.gaussian.blocks import Block, Pattern
from discreet.privacy.gaussian.energy_scaled import RoundContribution

__all__ = ["Answers"]


class Answers:
    """Integer contributions of one holder's users to any question.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.

    Notes
    -----
    **Privacy**. Blocks are private until a gate has summed and noised them. A user's energies over all blocks of one
    question are at most 1, whatever the question says: the code that builds them scales every user to that.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings
        self._pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)

    def blocks(self, question: Question) -> Sequence[Block]:
        """Contributions to this question, in the order in which they are released."""
        if isinstance(question, ActivityQuestion):
            return [activity_block(self._ratings)]
        users = user_statistics(self._ratings, self._pattern, question.side, question.frame)
        counts = self._pattern.counts if self._ratings.explicit else np.ones(self._pattern.n_users)
        return RoundContribution.build(
            self._pattern,
            users.features,
            users.residuals,
            users.spread / question.frame.residual,
            counts,
            question.item_weights,
            question.units,
        ).blocks
