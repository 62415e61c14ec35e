"""Private SVD after cleansing, at the level of users: charged means, one second moment, its eigenvectors as factors.

After McSherry and Mironov: "Differentially Private Recommender Systems: Building Privacy into the Netflix Prize
Contenders" (KDD 2009), which protects single ratings. Here a user takes part with a bounded number of ratings and a
row of bounded norm, so the bounds hold for a user as a whole.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod, Progress, Trained, report
from discreet.methods.settings import Auto, Positive, Rank, Share
from discreet.methods.shared.private.centring import Sample, SampleSettings, take_sample
from discreet.methods.shared.public.item_weights import Popularity
from discreet.methods.shared.public.spectrum import click_factors, leading, rating_factors
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import release_co_moment, release_counts, release_item_sums
from discreet.privacy.gaussian.gate import Gate
from discreet.types import Floats

__all__ = ["PrivateSVD", "SVDSettings"]


# Usual size of a residual, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.3
# Item means: so many deviations of a count's noise, and so many ratings, stand for the global mean.
_STABLE_NOISE, _STABLE_RATINGS = 10.0, 10.0


class SVDSettings(SampleSettings):
    """Private SVD.

    Attributes
    ----------
    rank
        Most factors; directions that do not stand out of the noise are left out.
    mean_share
        Share of mu^2 for item means (or counts, for clicks); ``"auto"`` is 0.2 for ratings and 0.1 for clicks.
    stabiliser
        An item's mean counts as many ratings at the global mean; ``"auto"``: 10 and ten deviations of the noise.
    own_stabiliser
        A user's own mean counts as many ratings without a residual.
    residual_bound
        Bound on one residual, in the units of the ratings; ``"auto"`` is half of the rating range.
    row_bound
        L, bound on a user's row of residuals, in the units of the ratings; ``"auto"`` is 0.3 of the range's half-width
        times the root of ``usual``. Rows of clicks have length 1 and need none.
    offset_penalty, factor_penalty
        Ridge on a user's offset and coefficients (whose variance is about 1); ``"auto"`` is 1 for ratings and 0.01 of
        the strongest factor's gravity for clicks.
    gravity
        Weight of unseen items as zeros (implicit feedback); ``"auto"`` is 20 times the (released) mean share of items
        that a user takes part with, at most 1.
    denoise
        Whether the diagonal is left out, directions that do not stand out of the noise are dropped and others scaled
        by their signal (ratings). Off: the first eigenvectors as they are, which is the published method.
    """

    rank: Rank = 16
    mean_share: Share | Auto = "auto"
    stabiliser: Positive | Auto = "auto"
    own_stabiliser: Positive = 5.0
    residual_bound: Positive | Auto = "auto"
    row_bound: Positive | Auto = "auto"
    offset_penalty: Positive = 3.0
    factor_penalty: Positive | Auto = "auto"
    gravity: Positive | Auto = "auto"
    denoise: bool = True


class PrivateSVD(PrivateMethod[SVDSettings]):
    """Item means, then the eigenvectors of the users' second moment as factors.

    Parameters
    ----------
    rank
        Most factors.
    **settings
        Further public settings: see :class:`SVDSettings`.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Factors that stood out of the noise, and 1.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Two releases spend the budget
    exactly: sums and counts of the items (counts alone for clicks), and the second moment of clipped rows.

    Examples
    --------
    >>> from discreet import Budget
    >>> from discreet.methods.svd.estimator import PrivateSVD
    >>> from discreet.data.synthetic import market
    >>> fitted = PrivateSVD(rank=4).fit(market(1_000, 50, 12_000, rng=0), Budget(20.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['item means', 'second moment']
    """

    name = "svd"
    settings_type = SVDSettings
    public = ("all settings", "the seed of the samples")

    def __init__(self, *, rank: int = 16, **settings: Any) -> None:
        super().__init__(rank=rank, **settings)

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        sample = take_sample(ratings, self.settings, rng)
        report(progress, 0, 2)
        side = (
            self._ratings(gate, sample, progress)
            if ratings.explicit
            else self._clicks(gate, sample, progress)
        )
        report(progress, 2, 2)
        return Trained(side, 1)

    def _ratings(self, gate: Gate, sample: Sample, progress: Progress | None) -> ItemSide:
        settings = self.settings
        side, popularity = self._means(gate, sample, self._first_mu(gate, 0.2))
        report(progress, 1, 2)
        bound = sample.row_norm(_SPREAD) if settings.row_bound == "auto" else settings.row_bound
        mu = gate.ledger.remaining_mu
        rows = self._residuals(sample, side) / bound
        moment = release_co_moment(gate, "second moment", sample.pattern, rows, mu=mu)
        if not settings.denoise:
            return replace(side, factors=leading(moment, settings.rank)[1])
        factors = rating_factors(bound**2 * moment, bound**2 / mu, settings.rank, popularity, sample.usual)
        return replace(side, factors=factors)

    def _means(self, gate: Gate, sample: Sample, mu: float) -> tuple[ItemSide, Popularity]:
        """Offsets from stabilised item means, around the global mean."""
        settings, ratings, half = self.settings, sample.ratings, sample.half_width
        scaled = (ratings.values - sample.middle) / half
        sums, counts = release_item_sums(gate, "item means", sample.pattern, scaled, sample.most, mu=mu)
        noise = math.sqrt(2.0 * sample.most) / mu
        popularity = Popularity.first(counts, np.full(len(counts), noise))
        mean = min(max(float(sums.sum()) / popularity.total, -1.0), 1.0)
        stabiliser = settings.stabiliser
        if stabiliser == "auto":
            stabiliser = _STABLE_RATINGS + _STABLE_NOISE * noise
        offsets = (sums - mean * counts) / (np.maximum(counts, 0.0) + stabiliser)
        side = ItemSide(
            ratings.scale,
            sample.middle + half * mean,
            half * (np.clip(mean + offsets, -1.0, 1.0) - mean),
            np.zeros((len(offsets), 0)),
            Ridge(
                settings.offset_penalty, 1.0 if settings.factor_penalty == "auto" else settings.factor_penalty
            ),
        )
        return side, popularity

    def _residuals(self, sample: Sample, side: ItemSide) -> Floats:
        """Each user's ratings less item means and the own mean, clipped."""
        pattern, bound = sample.pattern, self.settings.residual_bound
        away = sample.ratings.values - side.centre - side.offsets[pattern.items]
        own = pattern.user_sums(away) / (pattern.counts + self.settings.own_stabiliser)
        width = sample.half_width if bound == "auto" else bound
        return np.clip(away - np.repeat(own, np.diff(pattern.indptr)), -width, width)

    def _clicks(self, gate: Gate, sample: Sample, progress: Progress | None) -> ItemSide:
        settings, pattern = self.settings, sample.pattern
        mu = self._first_mu(gate, 0.1)
        counts = release_counts(gate, "item counts", pattern, sample.most, mu=mu)
        report(progress, 1, 2)
        popularity = Popularity.first(counts, np.full(len(counts), math.sqrt(sample.most) / mu))
        mu = gate.ledger.remaining_mu
        rows = np.repeat(1.0 / np.sqrt(np.maximum(pattern.counts, 1.0)), np.diff(pattern.indptr))
        moment = release_co_moment(gate, "second moment", pattern, rows, mu=mu)
        # A user's row has length 1, so the diagonal adds up to the number of users; this is its noise.
        users = max(float(np.trace(moment)), math.sqrt(len(counts)) / mu)
        usual = min(1.0, 20.0 * popularity.total / (users * len(counts)))
        gravity = usual if settings.gravity == "auto" else settings.gravity
        taken = popularity.positive()
        return ItemSide(
            sample.ratings.scale,
            0.0,
            taken / (taken + gravity * users),
            click_factors(moment, 1.0 / mu, settings.rank, gravity),
            Clicks(gravity, 0.01 if settings.factor_penalty == "auto" else settings.factor_penalty),
        )

    def _first_mu(self, gate: Gate, usual_share: float) -> float:
        share = usual_share if self.settings.mean_share == "auto" else self.settings.mean_share
        return gate.ledger.remaining_mu * math.sqrt(share)
