"""Private projected gradient: what users contribute, and the class that people fit; formulas are in the public half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.public.query import Query
from discreet.methods.published.public.projected_gradient import (
    PROJECTED_GRADIENT,
    RowsQuery,
    RowState,
    Shrunk,
)
from discreet.methods.shared.private import Sampler
from discreet.methods.shared.public.sample import SampledMean, alike
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.clipped import clip_rows
from discreet.types import Floats

__all__ = ["ProjectedGradient", "ProjectedGradientContributions"]


class ProjectedGradientContributions:
    """Integer contributions of some users. Their rows are a cache: they follow from the query's rounds."""

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)
        self._cache: tuple[RowState, Floats] | None = None

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledMean):
            return self._sampler.contributions(query)
        assert isinstance(query, RowsQuery)
        state = query.state
        weights = self._weights(state)
        moves = self._moves(state, weights, state.directions, state.step_size)
        bound = state.bound(state.step_size)
        _, pattern = self._sampler.take(state.sample)
        stay = 1.0 - state.step_size * state.gravity
        return query.mechanism.blocks(pattern, moves / bound, weights * (stay / bound))

    def _weights(self, state: RowState) -> Floats:
        """Users x rank: each user's row as weights on the directions, after all rounds."""
        _, pattern = self._sampler.take(state.sample)
        done, weights = 0, np.zeros((pattern.n_users, 0))
        if self._cache is not None and _continues(state, self._cache[0]):
            done, weights = len(self._cache[0].shrunk), self._cache[1]
        for t in range(done, len(state.shrunk)):
            earlier = state.shrunk[t - 1] if t else Shrunk(np.zeros((state.n_items, 0)), np.zeros(0), 1.0)
            weights = self._shrink(state, weights, earlier, state.shrunk[t])
        self._cache = (state, weights)
        return weights

    def _shrink(self, state: RowState, weights: Floats, earlier: Shrunk, now: Shrunk) -> Floats:
        """Step, project on the new directions, shrink, and keep the row inside its bound."""
        _, pattern = self._sampler.take(state.sample)
        moves = self._moves(state, weights, earlier.directions, earlier.step_size)
        if not earlier.factors.size:
            moves = moves * (now.step_size / earlier.step_size)
        stay = 1.0 - earlier.step_size * state.gravity
        stepped = kernels.transform_rows(weights * stay, now.directions.T @ earlier.directions)
        stepped += np.column_stack([pattern.user_sums(moves * v[pattern.items]) for v in now.directions.T])
        bound = state.bound(now.step_size)
        return bound * clip_rows(stepped * (now.factors / bound))

    def _moves(self, state: RowState, weights: Floats, directions: Floats, step_size: float) -> Floats:
        ratings, pattern = self._sampler.take(state.sample)
        targets = ratings.values - state.centre
        return step_size * kernels.residuals(pattern.indptr, pattern.items, targets, weights, directions)


def _continues(state: RowState, earlier: RowState) -> bool:
    """Whether this state begins with the earlier one, to the last bit."""
    return alike(replace(state, shrunk=state.shrunk[: len(earlier.shrunk)]), earlier)


class ProjectedGradient(PrivateMethod):
    """Singular-value shrinkage of rows that every user improves by a gradient step.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. A round is one release of the second
    moment of the users' rows, clipped to a public bound; all cost the same and together the budget exactly, with the
    charged mean where there is one.

    Examples
    --------
    >>> from discreet import Budget, ProjectedGradient
    >>> from discreet.data.synthetic import market
    >>> fitted = ProjectedGradient(rounds=3).fit(market(1_000, 50, 12_000, rng=0), Budget(20.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['step 1', 'step 2', 'step 3']
    """

    public_half = PROJECTED_GRADIENT
    private_half = ProjectedGradientContributions
