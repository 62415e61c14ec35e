"""The ratings that take part in a query: drawn by each user's own hash, kept until another sample is asked for."""

from __future__ import annotations

from discreet.data.ratings import Ratings
from discreet.methods.shared.private.sampling import keep_lowest, sample_uniform
from discreet.methods.shared.public.sample import Sample, SampledCounts, SampledMean, alike
from discreet.privacy.gaussian.blocks import Block, Pattern

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
        self._last: tuple[Sample, Ratings, Pattern] | None = None

    def take(self, sample: Sample) -> tuple[Ratings, Pattern]:
        """The ratings of each user that take part, and who touched what in them."""
        if self._last is None or not alike(self._last[0], sample):
            kept = self._ratings
            if sample.trained is not None:
                kept = kept.keep((sample.trained > 0.0)[kept.items])
            if sample.rule == "tail":
                assert sample.counts is not None
                rarity = sample.counts[kept.items]
                kept = kept.keep(keep_lowest(kept, rarity, sample.max_ratings))
            elif sample.rule == "uniform":
                kept = kept.keep(sample_uniform(kept, sample.max_ratings, sample.seed))
            self._last = (sample, kept, pattern_of(kept))
        return self._last[1:]

    def contributions(self, query: SampledCounts | SampledMean) -> list[Block]:
        """Contributions to the number of users of each item, or to the mean rating."""
        ratings, pattern = self.take(query.sample)
        if isinstance(query, SampledCounts):
            return query.mechanism.blocks(pattern)
        return query.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))


def pattern_of(ratings: Ratings) -> Pattern:
    """Who touched what."""
    return Pattern(ratings.indptr, ratings.items, ratings.n_items)
