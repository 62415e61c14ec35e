"""The ratings that take part in a query: drawn by each user's own hash, kept until another sample is asked for."""

from __future__ import annotations

from discreet.data.ratings import Ratings
from discreet.methods.shared.private.sampling import sample_uniform
from discreet.methods.shared.public.sample import SampledCounts, SampledMean, UniformSample
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.pattern import Pattern

__all__ = ["Sampler", "pattern_of"]


class Sampler:
    """Some users' samples. A cache of the last one: it follows from the ratings and the query.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings
        self._last: tuple[UniformSample, Ratings, Pattern] | None = None

    def take(self, sample: UniformSample) -> tuple[Ratings, Pattern]:
        """At most ``max_ratings`` ratings of each user, and who touched what in them."""
        if self._last is None or self._last[0] != sample:
            kept = self._ratings.keep(sample_uniform(self._ratings, sample.max_ratings, sample.seed))
            self._last = (sample, kept, pattern_of(kept))
        return self._last[1:]

    def count(self, query: SampledCounts) -> list[Block]:
        """Contributions to the number of users of each item."""
        return query.mechanism.blocks(self.take(query.sample)[1])

    def mean(self, query: SampledMean) -> list[Block]:
        """Contributions to the mean rating."""
        ratings, pattern = self.take(query.sample)
        return query.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))


def pattern_of(ratings: Ratings) -> Pattern:
    """Who touched what."""
    return Pattern(ratings.indptr, ratings.items, ratings.n_items)
