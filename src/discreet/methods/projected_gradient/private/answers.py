"""What users contribute to the questions of private projected gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.projected_gradient.public.train import Course, RowsQuestion, Shrunk
from discreet.methods.question import Question
from discreet.methods.shared.private.sample import Sampler
from discreet.methods.shared.public.sample import SampledMean
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.clipped import clip_rows
from discreet.types import Floats

__all__ = ["ProjectedGradientAnswers"]


class ProjectedGradientAnswers:
    """Integer contributions of some users. Their rows are a cache: they follow from the question's rounds.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)
        self._cache: tuple[Course, Floats] | None = None

    def answer(self, question: Question[Any]) -> Sequence[Block]:
        """Contributions to this question."""
        if isinstance(question, SampledMean):
            return self._sampler.mean(question)
        assert isinstance(question, RowsQuestion)
        course = question.course
        weights = self._weights(course)
        moves = self._moves(course, weights, course.directions, course.step_size)
        bound = course.bound(course.step_size)
        _, pattern = self._sampler.take(course.sample)
        stay = 1.0 - course.step_size * course.gravity
        return question.mechanism.blocks(pattern, moves / bound, weights * (stay / bound))

    def _weights(self, course: Course) -> Floats:
        """Users x rank: each user's row as weights on the directions, after all rounds."""
        _, pattern = self._sampler.take(course.sample)
        done, weights = 0, np.zeros((pattern.n_users, 0))
        if self._cache is not None and _continues(course, self._cache[0]):
            done, weights = len(self._cache[0].shrunk), self._cache[1]
        for t in range(done, len(course.shrunk)):
            earlier = course.shrunk[t - 1] if t else Shrunk(np.zeros((course.n_items, 0)), np.zeros(0), 1.0)
            weights = self._shrink(course, weights, earlier, course.shrunk[t])
        self._cache = (course, weights)
        return weights

    def _shrink(self, course: Course, weights: Floats, earlier: Shrunk, now: Shrunk) -> Floats:
        """Step, project on the new directions, shrink, and keep the row inside its bound."""
        _, pattern = self._sampler.take(course.sample)
        moves = self._moves(course, weights, earlier.directions, earlier.step_size)
        if not earlier.factors.size:
            moves = moves * (now.step_size / earlier.step_size)
        stay = 1.0 - earlier.step_size * course.gravity
        stepped = kernels.transform_rows(weights * stay, now.directions.T @ earlier.directions)
        stepped += np.column_stack([pattern.user_sums(moves * v[pattern.items]) for v in now.directions.T])
        bound = course.bound(now.step_size)
        return bound * clip_rows(stepped * (now.factors / bound))

    def _moves(self, course: Course, weights: Floats, directions: Floats, step_size: float) -> Floats:
        ratings, pattern = self._sampler.take(course.sample)
        targets = ratings.values - course.centre
        return step_size * kernels.residuals(pattern.indptr, pattern.items, targets, weights, directions)


def _continues(course: Course, earlier: Course) -> bool:
    """Whether this course begins with the earlier one, to the last bit."""
    same = (course.sample, course.centre, course.gravity, course.row_clip, course.typical_ratings) == (
        earlier.sample,
        earlier.centre,
        earlier.gravity,
        earlier.row_clip,
        earlier.typical_ratings,
    )
    return (
        same
        and len(course.shrunk) >= len(earlier.shrunk)
        and all(
            one.step_size == other.step_size
            and np.array_equal(one.factors, other.factors)
            and np.array_equal(one.directions, other.directions)
            for one, other in zip(course.shrunk, earlier.shrunk, strict=False)
        )
    )
