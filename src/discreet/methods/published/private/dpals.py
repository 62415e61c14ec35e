"""DPALS: what users contribute, and the class that people fit. Formulas stand in the public half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import Facts
from discreet.methods.public.query import Query
from discreet.methods.public.settings import PrivateSettings
from discreet.methods.published.public.dpals import (
    DPALS_HALF,
    DPALSSettings,
    RoundQuery,
    StartQuery,
    account,
    make_plan,
)
from discreet.methods.published.public.dpals_noise import Accounting, find_preset
from discreet.methods.shared.private import Sampler, draw_numbers
from discreet.methods.shared.public.sample import SampledCounts, SampledMean
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.clipped import clip_rows
from discreet.types import Floats

__all__ = ["DPALS", "DPALSContributions"]


class DPALSContributions:
    """Integer contributions of some users."""

    def __init__(self, ratings: Ratings) -> None:
        self._ratings, self._sampler = ratings, Sampler(ratings)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledCounts | SampledMean):
            return self._sampler.contributions(query)
        assert isinstance(query, StartQuery | RoundQuery)
        sample, pattern = self._sampler.take(query.sample)
        if isinstance(query, StartQuery):
            bound = query.entry_clip * np.sqrt(query.sample.max_ratings)
            return query.mechanism.blocks(pattern, _targets(sample, query.centre) / bound)
        rows = clip_rows(self._vectors(query), query.row_clip) / query.row_clip
        targets = _targets(sample, query.side.centre) / query.entry_clip
        return query.mechanism.blocks(pattern, rows, targets)

    def _vectors(self, query: RoundQuery) -> Floats:
        """A_user: every user's vector, from all their own ratings (or this round's 1/T of them, line 14)."""
        own = self._ratings
        if query.split_users:
            numbers = draw_numbers(own, query.sample.seed + 1)
            place = (numbers >> np.uint64(32)) * np.uint64(query.plan.rounds)
            own = own.keep(place >> np.uint64(32) == query.number)
        return query.side.fold_in(own.indptr, own.items, own.values, kind=np.float32)[:, 1:]


def _targets(ratings: Ratings, centre: float) -> Floats:
    return ratings.values - centre if ratings.explicit else np.ones(ratings.n_ratings)


class DPALS(PrivateMethod):
    """The published private ALS, correctly accounted. ``accounting_``: what its paper would have claimed.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Releases: item counts (twice at
    most), the mean, the start if it is spectral, and one set of normal equations a round. All of them are bounded by
    clipping (``privacy/gaussian/proofs/clipped.md``). Number and cost follow from the settings and the budget alone.

    Examples
    --------
    >>> from discreet import DPALS, Budget
    >>> from discreet.data.synthetic import market
    >>> fitted = DPALS(rank=4, max_ratings=10).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['item counts', 'item counts of the sample', 'mean', 'round 1', 'round 2']
    """

    public_half = DPALS_HALF
    private_half = DPALSContributions

    accounting_: Accounting

    @classmethod
    def from_preset(cls, name: str, **parameters: Any) -> Self:
        """A column of the paper's table 4, such as ``"ml-10m-eps-1"``; parameters given beside it win."""
        return cls(**(find_preset(name).settings | parameters))

    def _begin(self, settings: PrivateSettings, facts: Facts) -> None:
        assert isinstance(settings, DPALSSettings)
        self.accounting_ = account(make_plan(settings, facts), facts)
