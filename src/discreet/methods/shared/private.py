"""Which of a user's ratings take part: at most k of them, chosen from that user's own ratings and public numbers.

**Privacy.** No random stream is shared between users: in one, a further user would shift what everybody after them
draws. A user's draw is a hash of their own ratings and a public seed instead. So a user's choice is a fixed function
of their own row, no other user's changes when they come or go, and it does not matter who knows the seed.
"""

from __future__ import annotations

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.shared.public.sample import Sample, SampledCounts, SampledMean, alike
from discreet.privacy.gaussian.blocks import Block, Pattern
from discreet.types import Bools, Floats, Words

__all__ = ["Sampler", "draw_numbers", "keep_lowest", "pattern_of", "sample_uniform"]


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


def sample_uniform(ratings: Ratings, most: int, seed: int) -> Bools:
    """At most ``most`` ratings of each user, drawn evenly from that user's ratings."""
    # Also where no user has more: a shortcut would show in the time of a run whether one person does.
    # 53 of the 64 bits, which a double holds.
    return keep_lowest(ratings, (draw_numbers(ratings, seed) >> np.uint64(11)).astype(np.float64), most)


def keep_lowest(ratings: Ratings, numbers: Floats, most: int) -> Bools:
    """The ratings with each user's ``most`` lowest numbers (one number for each rating; ties by item)."""
    return kernels.lowest_entries(ratings.indptr, numbers, most)


def draw_numbers(ratings: Ratings, seed: int) -> Words:
    """A number for each rating that looks random and depends on its own user's ratings and the seed alone."""
    if ratings.n_ratings == 0:
        return np.zeros(0, dtype=np.uint64)
    items = ratings.items.astype(np.uint64)
    counts = np.diff(ratings.indptr)
    with np.errstate(over="ignore"):
        words = _mix(_mix(items + np.uint64(seed % 2**64)) ^ ratings.values.view(np.uint64))
        own = np.zeros(ratings.n_users, dtype=np.uint64)
        filled = counts > 0
        own[filled] = np.add.reduceat(words, ratings.indptr[:-1][filled])
        return _mix(np.repeat(_mix(own), counts) ^ words)


def _mix(words: Words) -> Words:
    """SplitMix64's finalisation: every bit of the input moves about half of the output's."""
    with np.errstate(over="ignore"):
        words = words + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))
