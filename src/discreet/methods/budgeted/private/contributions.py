"""The private half of budgeted ALS: what each user computes from their own ratings and the public item side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.queries import ActivityQuery, RoundQuery
from discreet.methods.budgeted.public.train import BUDGETED
from discreet.methods.budgeted.public.whitening import Frame
from discreet.methods.method import PrivateMethod
from discreet.methods.public.query import Query
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.blocks import Block, Pattern
from discreet.types import Floats

__all__ = ["BudgetedALS", "BudgetedContributions", "UserStatistics", "user_statistics"]


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


class UserStatistics(NamedTuple):
    """Private, one row per user: features, residuals per rating, and the size of a user's residuals."""

    features: Floats
    residuals: Floats
    spread: Floats


def user_statistics(ratings: Ratings, pattern: Pattern, side: ItemSide, frame: Frame) -> UserStatistics:
    """Features and residuals of every user, each from that user's own ratings alone.

    While the factors are a random start their scale means nothing, so a user's vector is brought to a standard
    length, and the residuals leave the factors out: what they explain is noise.
    """
    coefficients = side.fold_in(ratings.indptr, ratings.items, ratings.values, kind=np.float32)
    explained = coefficients
    if frame.start:
        explained = np.zeros_like(coefficients)
        explained[:, 0] = coefficients[:, 0]
        coefficients[:, 1:] = _standard_length(coefficients[:, 1:])
    targets = kernels.above_offsets(ratings.items, ratings.values, side.offsets, side.centre)
    residuals = kernels.residuals(ratings.indptr, ratings.items, targets, explained, side.design)
    # What a user's own numbers explain of their few ratings says nothing about other ratings.
    counts = np.maximum(pattern.counts, 1.0)
    used = frame.degrees_of_freedom(counts, side.ridge.offset_penalty, side.ridge.factor_penalty)
    free = np.maximum(counts - used, fitted.LEAST_FREE * counts)
    square = pattern.user_squares(values=residuals) / free
    return UserStatistics(_features(coefficients, frame), residuals, np.sqrt(square))


def _features(coefficients: Floats, frame: Frame) -> Floats:
    """Of vectors that nobody needs any more: the first entry is overwritten."""
    coefficients[:, 0] = 1.0
    return kernels.transform_rows(coefficients, frame.whiten)


def _standard_length(vectors: Floats) -> Floats:
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    goal = vectors * np.sqrt(vectors.shape[1])
    return np.where(length > 0, goal / np.where(length > 0, length, 1.0), 0.0)


class BudgetedALS(PrivateMethod):
    """Predicted ratings by private ALS on gradients: every user uses the whole budget, nothing to tune.

    For lists of what people take there is :class:`discreet.EASE`.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Everything learnt from ratings
    passes the gate (`discreet.privacy.gaussian.gate`) in 2 + rounds Gaussian releases whose costs sum to the
    budget exactly: activity, offsets, rounds (and the catalogue, where it is discovered).

    Examples
    --------
    >>> from discreet import Budget, BudgetedALS
    >>> from discreet.data.synthetic import market
    >>> fitted = BudgetedALS(rank=4, rounds=2).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> fitted.model_.item_side.factors.shape
    (50, 4)
    """

    public_half = BUDGETED
    private_half = BudgetedContributions
    gpu_half = "discreet.methods.budgeted.private.gpu_contributions:GpuBudgetedContributions"
