"""What users contribute to the queries of private SVD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.query import Query
from discreet.methods.shared.private.sample import Sampler
from discreet.methods.shared.public.sample import SampledCounts
from discreet.methods.svd.public.train import ChosenMomentQuery, ItemMeansQuery, ResidualMomentQuery
from discreet.privacy.gaussian.blocks import Block

__all__ = ["SVDContributions"]


class SVDContributions:
    """Integer contributions of some users.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledCounts):
            return self._sampler.count(query)
        if isinstance(query, ItemMeansQuery):
            ratings, pattern = self._sampler.take(query.sample)
            return query.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))
        if isinstance(query, ChosenMomentQuery):
            _, pattern = self._sampler.take(query.sample)
            rows = np.repeat(1.0 / np.sqrt(np.maximum(pattern.counts, 1.0)), np.diff(pattern.indptr))
            return query.mechanism.blocks(pattern, rows)
        assert isinstance(query, ResidualMomentQuery)
        return self._residuals(query)

    def _residuals(self, query: ResidualMomentQuery) -> Sequence[Block]:
        """Each user's ratings less item means and the own mean, clipped."""
        ratings, pattern = self._sampler.take(query.sample)
        away = ratings.values - query.centre - query.offsets[pattern.items]
        own = pattern.user_sums(away) / (pattern.counts + query.user_stabiliser)
        width = query.entry_clip
        rows = np.clip(away - np.repeat(own, np.diff(pattern.indptr)), -width, width)
        return query.mechanism.blocks(pattern, rows / query.row_clip)
