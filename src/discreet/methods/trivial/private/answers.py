"""What users contribute to the questions of the trivial methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.question import Question
from discreet.methods.shared.private.sample import pattern_of
from discreet.methods.trivial.public.train import ChoicesQuestion, MeanOfMeansQuestion, TalliesQuestion
from discreet.privacy.gaussian.blocks import Block

__all__ = ["TrivialAnswers"]


class TrivialAnswers:
    """Integer contributions of some users to a mean, to each item's mean or to popularity.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings, self._pattern = ratings, pattern_of(ratings)

    def answer(self, question: Question[Any]) -> Sequence[Block]:
        """Contributions to this question."""
        if isinstance(question, ChoicesQuestion):
            return question.mechanism.blocks(self._pattern)
        assert isinstance(question, MeanOfMeansQuestion | TalliesQuestion)
        scaled = self._ratings.scale.scaled(self._ratings.values)
        return question.mechanism.blocks(self._pattern, scaled)
