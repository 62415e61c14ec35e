"""Private SVD as its public half sees it: charged means, one second moment, its eigenvectors as factors.

After McSherry and Mironov: "Differentially Private Recommender Systems: Building Privacy into the Netflix Prize
Contenders" (KDD 2009), which protects single ratings. Here a user takes part with a bounded number of ratings and a
row of bounded norm, so the bounds hold for a user as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.public_half import Facts, PublicHalf, Queries
from discreet.methods.query import Query, Trained
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.sample import (
    SampledCounts,
    UniformSample,
    draw_sample,
    typical_row_norm,
)
from discreet.methods.shared.public.spectrum import click_factors, leading, rating_factors
from discreet.methods.svd.settings import SVDSettings
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.accounting import remaining
from discreet.privacy.gaussian.clipped import CoMoments, ItemSums, NoisyMoment, NoisySums
from discreet.types import Floats

__all__ = ["SVD", "ChosenMomentQuery", "ItemMeansQuery", "ResidualMomentQuery", "train"]

# Typical size of a residual, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.3
# Item means: so many deviations of a count's noise, and so many ratings, stand for the global mean.
_STABLE_NOISE, _STABLE_RATINGS = 10.0, 10.0


@dataclass(frozen=True, eq=False)
class ItemMeansQuery(Query[NoisySums]):
    """What is the sum of each item's sampled ratings, in units of half the range, and how many are there?"""

    sample: UniformSample
    n_items: int

    @property
    def mechanism(self) -> ItemSums:
        """Two numbers for each item."""
        return ItemSums(self.n_items, self.sample.max_ratings)


@dataclass(frozen=True, eq=False)
class ResidualMomentQuery(Query[NoisyMoment]):
    """What is the second moment of users' residuals over the items?

    Parameters
    ----------
    centre, offsets
        What ratings are measured from.
    user_stabiliser
        A user's own mean counts as many ratings without a residual.
    entry_clip, row_clip
        Bounds on one residual and on a user's row of them.
    """

    sample: UniformSample
    centre: float
    offsets: Floats
    user_stabiliser: float
    entry_clip: float
    row_clip: float

    @property
    def mechanism(self) -> CoMoments:
        """Items x items."""
        return CoMoments(len(self.offsets))


@dataclass(frozen=True, eq=False)
class ChosenMomentQuery(Query[NoisyMoment]):
    """Which items are taken together? Every user's row has length 1."""

    sample: UniformSample
    n_items: int

    @property
    def mechanism(self) -> CoMoments:
        """Items x items."""
        return CoMoments(self.n_items)


def train(settings: SVDSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Item means (or counts), then one second moment; factors are its eigenvectors."""
    sample = draw_sample(settings, facts, rng)
    steps = _ratings if facts.scale.explicit else _clicks
    return (yield from steps(settings, facts, sample))


def _ratings(settings: SVDSettings, facts: Facts, sample: UniformSample) -> Queries:
    first = _first_mu(settings, facts, 0.2)
    sums = yield ItemMeansQuery("item means", first, sample, facts.n_items, planned=2)
    side, popularity = _means(settings, facts, sums)
    typical = min(settings.typical_ratings, sample.max_ratings)
    clip = typical_row_norm(facts, typical, _SPREAD) if settings.row_clip == "auto" else settings.row_clip
    entry = facts.scale.half_width if settings.entry_clip == "auto" else settings.entry_clip
    moment = yield ResidualMomentQuery(
        "second moment",
        remaining(facts.mu, first),
        sample,
        side.centre,
        side.offsets,
        settings.user_stabiliser,
        entry,
        clip,
        planned=2,
    )
    if not settings.denoise:
        factors = leading(moment.matrix, settings.rank)[1]
    else:
        factors = rating_factors(
            clip**2 * moment.matrix, clip**2 / moment.mu, settings.rank, popularity, typical
        )
    return Trained(replace(side, factors=factors), 1)


def _means(settings: SVDSettings, facts: Facts, noisy: NoisySums) -> tuple[ItemSide, ItemWeights]:
    """Offsets from stabilised item means, around the global mean."""
    sums, counts, noise = noisy
    scale = facts.scale
    popularity = ItemWeights.first(counts, np.full(len(counts), noise))
    mean = min(max(float(sums.sum()) / popularity.total, -1.0), 1.0)
    stabiliser = settings.stabiliser
    if stabiliser == "auto":
        stabiliser = _STABLE_RATINGS + _STABLE_NOISE * noise
    offsets = (sums - mean * counts) / (np.maximum(counts, 0.0) + stabiliser)
    side = ItemSide(
        scale,
        scale.middle + scale.half_width * mean,
        scale.half_width * (np.clip(mean + offsets, -1.0, 1.0) - mean),
        np.zeros((len(offsets), 0)),
        Ridge(settings.offset_penalty, 1.0 if settings.penalty == "auto" else settings.penalty),
    )
    return side, popularity


def _clicks(settings: SVDSettings, facts: Facts, sample: UniformSample) -> Queries:
    first = _first_mu(settings, facts, 0.1)
    noisy = yield SampledCounts("item counts", first, sample, facts.n_items, planned=2)
    popularity = ItemWeights.first(noisy.counts, np.full(facts.n_items, noisy.sigma))
    moment = yield ChosenMomentQuery(
        "second moment", remaining(facts.mu, first), sample, facts.n_items, planned=2
    )
    # A user's row has length 1, so the diagonal adds up to the number of users; this is its noise.
    users = max(float(np.trace(moment.matrix)), math.sqrt(facts.n_items) / moment.mu)
    typical = min(1.0, 20.0 * popularity.total / (users * facts.n_items))
    gravity = typical if settings.gravity == "auto" else settings.gravity
    taken = popularity.positive()
    side = ItemSide(
        facts.scale,
        0.0,
        taken / (taken + gravity * users),
        click_factors(moment.matrix, 1.0 / moment.mu, settings.rank, gravity),
        Clicks(gravity, 0.01 if settings.penalty == "auto" else settings.penalty),
    )
    return Trained(side, 1)


def _first_mu(settings: SVDSettings, facts: Facts, typical_share: float) -> float:
    share = typical_share if settings.mean_share == "auto" else settings.mean_share
    return facts.mu * math.sqrt(share)


SVD = PublicHalf(
    "svd",
    SVDSettings,
    train,
    (ItemMeansQuery, ResidualMomentQuery, SampledCounts, ChosenMomentQuery),
    public=("all settings", "the seed of the samples"),
    numbers=lambda settings, n_items: n_items * (n_items + settings.rank + 4) + 128,
)
