"""Private SVD: what it asks, and what it makes of the releases.

After McSherry and Mironov: "Differentially Private Recommender Systems: Building Privacy into the Netflix Prize
Contenders" (KDD 2009), the baseline "DP SVD after cleansing" of the poster 001. That paper protects single ratings;
here a user takes part with k ratings and a row of bounded norm, so the bounds hold for a user as a whole.

    s_j, c_j = sums and counts of the items + noise,  m = sum s / sum c,  b_j = (s_j - m c_j) / (c_j + stabiliser)
    y_ij = x_ij - m - b_j, less the user's own (stabilised) mean, clipped to +-B, the row to L         private
    C = sum_i y_i y_i' + symmetric noise of scale L^2 / mu            V = first eigenvectors of C

Ours (docs/lab): directions that do not stand out of the noise are dropped, the others scaled by their signal, so
that people are served by a ridge of 1. ``denoise=False`` takes the eigenvectors as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import Auto, Positive, Rank, Share
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.sample import (
    Sample,
    SampledCounts,
    SampleSettings,
    draw_sample,
    typical_row_norm,
)
from discreet.methods.shared.public.spectrum import click_factors, leading, rating_factors
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.accounting import remaining
from discreet.privacy.gaussian.clipped import CoMoments, ItemSums, NoisyMoment, NoisySums
from discreet.types import Floats

__all__ = ["SVD", "ChosenMomentQuery", "ItemMeansQuery", "ResidualMomentQuery", "SVDSettings"]

# Typical size of a residual, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.3
# Item means: so many deviations of a count's noise, and so many ratings, stand for the global mean.
_STABLE_NOISE, _STABLE_RATINGS = 10.0, 10.0


class SVDSettings(SampleSettings):
    """Private SVD.

    Parameters
    ----------
    rank
        Most factors; directions that do not stand out of the noise are left out.
    mean_share
        Share of mu^2 for item means (or counts, for clicks); ``"auto"`` is 0.2 for ratings and 0.1 for clicks.
    user_stabiliser
        A user's own mean counts as many ratings without a residual.
    row_clip
        L, bound on a user's row of residuals, in the units of the ratings; ``"auto"`` is 0.3 of the range's half-width
        times the root of ``typical_ratings``. Rows of clicks have length 1 and need none.
    offset_penalty, penalty
        Ridge on a user's offset and coefficients (whose variance is about 1); ``"auto"`` is 1 for ratings and 0.01 of
        the strongest factor's gravity for clicks.
    denoise
        Whether the diagonal is left out, directions that do not stand out of the noise are dropped and others scaled
        by their signal (ratings). Off: the first eigenvectors as they are, which is the published method.
    """

    rank: Rank = 16
    mean_share: Share | Auto = "auto"
    user_stabiliser: Positive = 5.0
    row_clip: Positive | Auto = "auto"
    offset_penalty: Positive = 3.0
    penalty: Positive | Auto = "auto"
    denoise: bool = True


@dataclass(frozen=True, eq=False)
class ItemMeansQuery(Query[NoisySums]):
    """What is the sum of each item's sampled ratings, in units of half the range, and how many are there?"""

    sample: Sample
    n_items: int

    @property
    def mechanism(self) -> ItemSums:
        """Two numbers for each item."""
        return ItemSums(self.n_items, self.sample.max_ratings)


@dataclass(frozen=True, eq=False)
class ResidualMomentQuery(Query[NoisyMoment]):
    """What is the second moment of users' residuals over the items, less centre and offsets, clipped as set?"""

    sample: Sample
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

    sample: Sample
    n_items: int

    @property
    def mechanism(self) -> CoMoments:
        """Items x items."""
        return CoMoments(self.n_items)


def _train(settings: SVDSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    sample = draw_sample(settings, facts, rng)
    steps, share = (_ratings, 0.2) if facts.scale.explicit else (_clicks, 0.1)
    first = facts.mu * math.sqrt(share if settings.mean_share == "auto" else settings.mean_share)
    return (yield from steps(settings, facts, sample, first))


def _ratings(settings: SVDSettings, facts: Facts, sample: Sample, first: float) -> Queries:
    sums = yield ItemMeansQuery("item means", first, sample, facts.n_items, planned=2)
    side, popularity = _means(settings, facts, sums)
    typical = min(settings.typical_ratings, sample.max_ratings)
    clip = typical_row_norm(facts, typical, _SPREAD) if settings.row_clip == "auto" else settings.row_clip
    # B, bound on one residual: half of the rating range.
    said = sample, side.centre, side.offsets, settings.user_stabiliser, facts.scale.half_width, clip
    moment = yield ResidualMomentQuery("second moment", remaining(facts.mu, first), *said, planned=2)
    if not settings.denoise:
        factors = leading(moment.matrix, settings.rank)[1]
    else:
        factors = rating_factors(
            clip**2 * moment.matrix, clip**2 / moment.mu, settings.rank, popularity, typical
        )
    return Trained(replace(side, factors=factors), 1)


def _means(settings: SVDSettings, facts: Facts, noisy: NoisySums) -> tuple[ItemSide, ItemWeights]:
    """Offsets from stabilised item means, around the global mean."""
    (sums, counts, noise), scale = noisy, facts.scale
    popularity = ItemWeights.first(counts, np.full(len(counts), noise))
    mean = min(max(float(sums.sum()) / popularity.total, -1.0), 1.0)
    offsets = (sums - mean * counts) / (np.maximum(counts, 0.0) + (_STABLE_RATINGS + _STABLE_NOISE * noise))
    side = ItemSide(
        scale,
        scale.middle + scale.half_width * mean,
        scale.half_width * (np.clip(mean + offsets, -1.0, 1.0) - mean),
        np.zeros((len(offsets), 0)),
        Ridge(settings.offset_penalty, 1.0 if settings.penalty == "auto" else settings.penalty),
    )
    return side, popularity


def _clicks(settings: SVDSettings, facts: Facts, sample: Sample, first: float) -> Queries:
    n_items = facts.n_items
    noisy = yield SampledCounts("item counts", first, sample, n_items, planned=2)
    popularity = ItemWeights.first(noisy.counts, np.full(n_items, noisy.sigma))
    moment = yield ChosenMomentQuery("second moment", remaining(facts.mu, first), sample, n_items, planned=2)
    # A user's row has length 1, so the diagonal adds up to the number of users; this is its noise.
    users = max(float(np.trace(moment.matrix)), math.sqrt(n_items) / moment.mu)
    # Weight of unseen items as zeros: 20 times the mean share of items that a user takes part with, at most 1.
    gravity = min(1.0, 20.0 * popularity.total / (users * n_items))
    taken = popularity.positive()
    factors = click_factors(moment.matrix, 1.0 / moment.mu, settings.rank, gravity)
    rule = Clicks(gravity, 0.01 if settings.penalty == "auto" else settings.penalty)
    return Trained(ItemSide(facts.scale, 0.0, taken / (taken + gravity * users), factors, rule), 1)


SVD = PublicHalf(
    "svd",
    SVDSettings,
    _train,
    (ItemMeansQuery, ResidualMomentQuery, SampledCounts, ChosenMomentQuery),
    public=("all settings", "the seed of the samples"),
    numbers=lambda settings, n_items: n_items * (n_items + settings.rank + 4) + 128,
)
