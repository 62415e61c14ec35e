"""A private method of one's own, outside the package: popularity in which the shy count as much as the loud.

Every user takes part with a few items drawn at random; the noisy counts are damped by a power.
"""

from dataclasses import dataclass

import numpy as np

from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import PublicHalf
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import MaxRatings, PrivateSettings, Share
from discreet.methods.shared.private import Sampler
from discreet.methods.shared.public.sample import Sample
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import ItemCounts


class ShySettings(PrivateSettings):
    max_ratings: MaxRatings = 5
    power: Share = 0.5


@dataclass(frozen=True, eq=False)
class HowMany(Query):
    sample: Sample
    n_items: int

    @property
    def mechanism(self):
        return ItemCounts(self.n_items, self.sample.max_ratings)


def train(settings, facts, rng):
    sample = Sample(int(rng.integers(2**62)), settings.max_ratings)
    noisy = yield HowMany("users of each item", facts.mu, sample, facts.n_items, planned=1)
    score = np.maximum(noisy.counts, 0.0) ** settings.power
    return Trained(ItemSide(facts.scale, 0.0, score, np.zeros((facts.n_items, 0)), Clicks()), rounds=1)


class ShyContributions:
    def __init__(self, ratings):
        self._sampler = Sampler(ratings)

    def contributions(self, query):
        _, pattern = self._sampler.take(query.sample)
        return query.mechanism.blocks(pattern)


class ShyPopularity(PrivateMethod):
    public_half = PublicHalf("shy-popularity", ShySettings, train, (HowMany,), makes_lists=True)
    private_half = ShyContributions
