"""What users contribute to the questions of private SVD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.question import Question
from discreet.methods.shared.private.sample import Sampler
from discreet.methods.shared.public.sample import SampledCounts
from discreet.methods.svd.public.train import ChosenMomentQuestion, ItemMeansQuestion, ResidualMomentQuestion
from discreet.privacy.gaussian.blocks import Block

__all__ = ["SVDAnswers"]


class SVDAnswers:
    """Integer contributions of some users.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)

    def answer(self, question: Question[Any]) -> Sequence[Block]:
        """Contributions to this question."""
        if isinstance(question, SampledCounts):
            return self._sampler.count(question)
        if isinstance(question, ItemMeansQuestion):
            ratings, pattern = self._sampler.take(question.sample)
            return question.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))
        if isinstance(question, ChosenMomentQuestion):
            _, pattern = self._sampler.take(question.sample)
            rows = np.repeat(1.0 / np.sqrt(np.maximum(pattern.counts, 1.0)), np.diff(pattern.indptr))
            return question.mechanism.blocks(pattern, rows)
        assert isinstance(question, ResidualMomentQuestion)
        return self._residuals(question)

    def _residuals(self, question: ResidualMomentQuestion) -> Sequence[Block]:
        """Each user's ratings less item means and the own mean, clipped."""
        ratings, pattern = self._sampler.take(question.sample)
        away = ratings.values - question.centre - question.offsets[pattern.items]
        own = pattern.user_sums(away) / (pattern.counts + question.user_stabiliser)
        width = question.entry_clip
        rows = np.clip(away - np.repeat(own, np.diff(pattern.indptr)), -width, width)
        return question.mechanism.blocks(pattern, rows / question.row_clip)
