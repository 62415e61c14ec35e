"""Private SVD: what users contribute, and the class that people fit. Formulas stand in the public half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.public.query import Query
from discreet.methods.published.public.svd import SVD, ChosenMomentQuery, ItemMeansQuery, ResidualMomentQuery
from discreet.methods.shared.private import Sampler
from discreet.methods.shared.public.sample import SampledCounts
from discreet.privacy.gaussian.blocks import Block

__all__ = ["PrivateSVD", "SVDContributions"]


class SVDContributions:
    """Integer contributions of some users."""

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledCounts):
            return self._sampler.contributions(query)
        assert isinstance(query, ItemMeansQuery | ChosenMomentQuery | ResidualMomentQuery)
        ratings, pattern = self._sampler.take(query.sample)
        if isinstance(query, ItemMeansQuery):
            return query.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))
        if isinstance(query, ChosenMomentQuery):
            rows = np.repeat(1.0 / np.sqrt(np.maximum(pattern.counts, 1.0)), np.diff(pattern.indptr))
            return query.mechanism.blocks(pattern, rows)
        # Each user's ratings less item means and the own mean, clipped.
        away = ratings.values - query.centre - query.offsets[pattern.items]
        own = pattern.user_sums(away) / (pattern.counts + query.user_stabiliser)
        width = query.entry_clip
        rows = np.clip(away - np.repeat(own, np.diff(pattern.indptr)), -width, width)
        return query.mechanism.blocks(pattern, rows / query.row_clip)


class PrivateSVD(PrivateMethod):
    """Item means, then the eigenvectors of the users' second moment as factors.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Two releases spend the budget
    exactly: sums and counts of the items (counts alone for clicks), and the second moment of clipped rows.

    Examples
    --------
    >>> from discreet import Budget, PrivateSVD
    >>> from discreet.data.synthetic import market
    >>> fitted = PrivateSVD(rank=4).fit(market(1_000, 50, 12_000, rng=0), Budget(20.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['item means', 'second moment']
    """

    public_half = SVD
    private_half = SVDContributions
