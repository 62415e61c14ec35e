"""What users contribute to the queries of DPALS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.dpals.public.queries import (
    CountsQuery,
    MeanQuery,
    RoundQuery,
    Sampling,
    StartQuery,
)
from discreet.methods.query import Query
from discreet.methods.shared.private.sample import Sampler, pattern_of
from discreet.methods.shared.private.sampling import draw_numbers, keep_lowest, sample_uniform
from discreet.methods.shared.public.sample import SampledCounts
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.clipped import clip_rows
from discreet.privacy.gaussian.pattern import Pattern
from discreet.types import Floats

__all__ = ["DPALSContributions"]


class DPALSContributions:
    """Integer contributions of some users. The sample is a cache: it follows from the query.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings
        self._cache: tuple[Sampling, Ratings, Pattern] | None = None

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledCounts):
            return Sampler(self._ratings).count(query)
        if isinstance(query, CountsQuery):
            return query.mechanism.blocks(self._sample(query.sampling)[1])
        if isinstance(query, MeanQuery):
            return self._mean(query)
        if isinstance(query, StartQuery):
            sample, pattern = self._sample(query.sampling)
            bound = query.entry_clip * np.sqrt(query.sampling.max_ratings)
            return query.mechanism.blocks(pattern, _targets(sample, query.centre) / bound)
        assert isinstance(query, RoundQuery)
        sample, pattern = self._sample(query.sampling)
        rows = clip_rows(self._vectors(query), query.row_clip) / query.row_clip
        targets = _targets(sample, query.side.centre) / query.entry_clip
        return query.mechanism.blocks(pattern, rows, targets)

    def _mean(self, query: MeanQuery) -> Sequence[Block]:
        sampling = query.sampling
        sample, pattern = self._sample(sampling)
        if sampling.rule == "weights":
            sample = sample.keep(sample_uniform(sample, sampling.max_ratings, sampling.seed + 1))
            pattern = pattern_of(sample)
        return query.mechanism.blocks(pattern, sample.scale.scaled(sample.values))

    def _sample(self, sampling: Sampling) -> tuple[Ratings, Pattern]:
        """The ratings that take part in the item step."""
        if self._cache is None or not _same(self._cache[0], sampling):
            sample = self._ratings
            trained = sampling.trained > 0.0
            if not trained.all():
                sample = sample.keep(trained[sample.items])
            if sampling.rule == "tail":
                rarity = sampling.counts[sample.items]
                sample = sample.keep(keep_lowest(sample, rarity, sampling.max_ratings))
            elif sampling.rule == "uniform":
                sample = sample.keep(sample_uniform(sample, sampling.max_ratings, sampling.seed + 1))
            self._cache = (sampling, sample, pattern_of(sample))
        return self._cache[1:]

    def _vectors(self, query: RoundQuery) -> Floats:
        """Every user's vector, from their own ratings."""
        own = self._ratings
        if query.split_users:
            numbers = draw_numbers(own, query.sampling.seed + 2)
            place = (numbers >> np.uint64(32)) * np.uint64(query.rounds)
            own = own.keep(place >> np.uint64(32) == query.number)
        return query.side.fold_in(own.indptr, own.items, own.values, kind=np.float32)[:, 1:]


def _targets(ratings: Ratings, centre: float) -> Floats:
    return ratings.values - centre if ratings.explicit else np.ones(ratings.n_ratings)


def _same(one: Sampling, other: Sampling) -> bool:
    return one is other or (
        (one.rule, one.seed, one.max_ratings) == (other.rule, other.seed, other.max_ratings)
        and np.array_equal(one.counts, other.counts)
        and np.array_equal(one.trained, other.trained)
    )
