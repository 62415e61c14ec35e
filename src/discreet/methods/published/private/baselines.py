"""Trivial baselines: what users contribute, and the classes that people fit.

They are served by the same `Model`, so they are compared under the same budget, with the same histories and by the
same metrics as anything that claims to be better.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.methods.checks import check_items, check_ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import Facts, described
from discreet.methods.public.protocol import ProtocolRun
from discreet.methods.public.query import Query
from discreet.methods.published.public.baselines import (
    GLOBAL_MEAN,
    ITEM_MEAN,
    POPULARITY,
    USER_MEAN,
    ChoicesQuery,
    MeanOfMeansQuery,
    TalliesQuery,
)
from discreet.methods.shared.private import pattern_of
from discreet.model import Model
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.statement import Statement

__all__ = ["BaselineContributions", "GlobalMean", "ItemMean", "Popularity", "UserMean"]


class BaselineContributions:
    """Integer contributions of some users to a mean, to each item's mean or to popularity."""

    def __init__(self, ratings: Ratings) -> None:
        self._ratings, self._pattern = ratings, pattern_of(ratings)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, ChoicesQuery):
            return query.mechanism.blocks(self._pattern)
        assert isinstance(query, MeanOfMeansQuery | TalliesQuery)
        scaled = self._ratings.scale.scaled(self._ratings.values)
        return query.mechanism.blocks(self._pattern, scaled)


class GlobalMean(PrivateMethod):
    """One number for everybody and everything: the mean over users of their own mean ratings.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release, a sum of means
    and a number of users, spends the budget; every user counts the same. The mean over ratings, in which busy users
    count more, would need a bound on how busy they are. Proof note: ``privacy/gaussian/proofs/tallies.md``.
    """

    public_half = GLOBAL_MEAN
    private_half = BaselineContributions


class UserMean(PrivateMethod):
    """Each user's own mean rating for everything, the middle of the range for a user without a history.

    Notes
    -----
    **Privacy**. Nothing is released: a user's mean is computed for that user alone when it is asked for. It costs
    nothing and needs no budget, except to find a catalogue where none is given (``discover_share``).
    """

    public_half = USER_MEAN
    private_half = BaselineContributions

    def fit(self, ratings: AnyRatings, budget: Budget | None = None, **options: Any) -> Self:
        """Make the model; the ratings only say which catalogue and which range. What costs nothing is not kept.

        See :meth:`discreet.methods.method.PrivateMethod.fit` for the options.
        """
        check_ratings(ratings)
        _ = inspect.signature(super().fit).bind(ratings, budget, **options)  # a misspelt option is refused
        if ratings.catalogue is None:
            # Without a budget this is refused there, in the words that all methods have.
            return super().fit(ratings, budget, **options)  # type: ignore[arg-type]
        self._place(ratings, options.get("engine"), options.get("device", "cpu"))
        if options.get("start") is not None:
            self.public_half.check_start(options["start"])
        self.public_half.check_features(ratings.catalogue.features is not None)
        check_items(ratings.n_items)
        # Any budget would do: nothing is asked, so nothing is spent.
        facts = Facts(ratings.n_items, ratings.scale, Budget(1.0, 1e-6), 0.0)
        trained = ProtocolRun(self.public_half, self.settings, facts, 0).trained
        assert trained is not None
        paid = ratings.catalogue.paid
        public = ("the item catalogue", "the rating range")
        statement = Statement.nothing_released(public=public if paid is None else public[1:])
        statement = statement.carrying(Carried() if paid is None else paid)
        said = described(self.public_half, self.settings, trained)
        return self._learnt(
            trained, Model(trained.side, ratings.catalogue, statement, self.method_name(), said)
        )


class ItemMean(PrivateMethod):
    """Each item's mean rating, drawn toward the overall mean as far as noise hides the item's own.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release, a sum and a
    weight for each item, spends the budget: every user's contribution is scaled to energy 1, which makes their ratings
    count the less the more of them there are. The overall mean and the shrinkage follow from what was released. Proof
    note: ``privacy/gaussian/proofs/tallies.md``.
    """

    public_half = ITEM_MEAN
    private_half = BaselineContributions


class Popularity(PrivateMethod):
    """The items most often chosen, for everybody; what ratings say beyond the choice is ignored.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release spends the
    budget: a user with k items adds 1 / sqrt(k) to each, so every user has energy 1. Scores are shares of the sum over
    items. Proof note: ``privacy/gaussian/proofs/tallies.md``.
    """

    public_half = POPULARITY
    private_half = BaselineContributions
