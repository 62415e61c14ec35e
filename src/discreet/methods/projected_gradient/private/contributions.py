"""What users contribute to the queries of private projected gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.projected_gradient.public.train import RowsQuery, RowState, Shrunk
from discreet.methods.query import Query
from discreet.methods.shared.private.sample import Sampler
from discreet.methods.shared.public.sample import SampledMean
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.clipped import clip_rows
from discreet.types import Floats

__all__ = ["ProjectedGradientContributions"]


class ProjectedGradientContributions:
    """Integer contributions of some users. Their rows are a cache: they follow from the query's rounds.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)
        self._cache: tuple[RowState, Floats] | None = None

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledMean):
            return self._sampler.mean(query)
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
    same = (state.sample, state.centre, state.gravity, state.row_clip, state.typical_ratings) == (
        earlier.sample,
        earlier.centre,
        earlier.gravity,
        earlier.row_clip,
        earlier.typical_ratings,
    )
    return (
        same
        and len(state.shrunk) >= len(earlier.shrunk)
        and all(
            one.step_size == other.step_size
            and np.array_equal(one.factors, other.factors)
            and np.array_equal(one.directions, other.directions)
            for one, other in zip(state.shrunk, earlier.shrunk, strict=False)
        )
    )
