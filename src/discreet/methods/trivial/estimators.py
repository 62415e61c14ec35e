"""Trivial private methods: baselines for every result.

They are served by the same `Model`, so they are compared under the same budget, with the same histories and by the
same metrics as anything that claims to be better.
"""

from __future__ import annotations

import os
from typing import Self

import numpy as np

from discreet.engines.choice import AnyRatings
from discreet.engines.cluster import Cluster, read_cluster
from discreet.engines.devices import check_device
from discreet.methods.checkpoint import Checkpoint
from discreet.methods.checks import check_items, check_ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.protocol import Progress, ProtocolRun
from discreet.methods.public_half import Facts, described
from discreet.methods.trivial.private.contributions import TrivialContributions
from discreet.methods.trivial.public.train import GLOBAL_MEAN, ITEM_MEAN, POPULARITY, USER_MEAN
from discreet.model import Model
from discreet.privacy.account.ledger_file import AnyLedger
from discreet.privacy.budget import Budget
from discreet.privacy.carried import Carried
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.statement import Statement

__all__ = ["GlobalMean", "ItemMean", "Popularity", "UserMean"]


class GlobalMean(PrivateMethod):
    """One number for everybody and everything: the mean over users of their own mean ratings.

    Parameters
    ----------
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release, a sum of means
    and a number of users, spends the budget; every user counts the same. The mean over ratings, in which busy users
    count more, would need a bound on how busy they are. Proof note: ``privacy/gaussian/proofs/tallies.md``.
    """

    public_half = GLOBAL_MEAN
    private_half = TrivialContributions

    def __init__(self, *, discover_share: float | None = None) -> None:
        super().__init__(discover_share=discover_share)


class UserMean(PrivateMethod):
    """Each user's own mean rating for everything, the middle of the range for a user without a history.

    Parameters
    ----------
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Notes
    -----
    **Privacy**. Nothing is released: a user's mean is computed for that user alone when it is asked for. It costs
    nothing and needs no budget, except to find a catalogue where none is given (``discover_share``).
    """

    public_half = USER_MEAN
    private_half = TrivialContributions

    def __init__(self, *, discover_share: float | None = None) -> None:
        super().__init__(discover_share=discover_share)

    def fit(
        self,
        ratings: AnyRatings,
        budget: Budget | None = None,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
        noise: Noise | None = None,
        start: Model | None = None,
        start_is_public: bool = False,
        ledger: AnyLedger | None = None,
        device: str = "cpu",
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
        engine: Cluster | str | None = None,
    ) -> Self:
        """Make the model; the ratings only say which catalogue and which range. What costs nothing is not kept."""
        check_ratings(ratings)
        check_device(device, self.method_name(), self.gpu_half)
        read_cluster(engine, ratings, device)
        if start is not None:
            self.public_half.check_start(start)
        if ratings.catalogue is None:
            # Without a budget this is refused there, in the words that all methods have.
            given = {
                "rng": rng,
                "progress": progress,
                "noise": noise,
                "ledger": ledger,
                "checkpoint": checkpoint,
            }
            return super().fit(ratings, budget, **given)  # type: ignore[arg-type]
        self.public_half.check_features(ratings.catalogue.features is not None)
        check_items(ratings.n_items)
        paid = ratings.catalogue.paid
        public = ("the item catalogue", "the rating range")
        statement = Statement.nothing_released(public=public if paid is None else public[1:])
        statement = statement.carrying(Carried() if paid is None else paid)
        # Any budget would do: nothing is asked, so nothing is spent.
        facts = Facts(ratings.n_items, ratings.scale, Budget(1.0, 1e-6), 0.0)
        trained = ProtocolRun(self.public_half, self.settings, facts, 0).trained
        assert trained is not None
        model = Model(
            trained.side,
            ratings.catalogue,
            statement,
            self.public_half.name,
            described(self.public_half, self.settings, trained),
        )
        return self._learnt(trained, model)


class ItemMean(PrivateMethod):
    """Each item's mean rating, drawn toward the overall mean as far as noise hides the item's own.

    Parameters
    ----------
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release, a sum and a
    weight for each item, spends the budget: every user's contribution is scaled to energy 1, which makes their ratings
    count the less the more of them there are. The overall mean and the shrinkage follow from what was released. Proof
    note: ``privacy/gaussian/proofs/tallies.md``.
    """

    public_half = ITEM_MEAN
    private_half = TrivialContributions

    def __init__(self, *, discover_share: float | None = None) -> None:
        super().__init__(discover_share=discover_share)


class Popularity(PrivateMethod):
    """The items most often chosen, for everybody; what ratings say beyond the choice is ignored.

    Parameters
    ----------
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. One Gaussian release spends the
    budget: a user with k items adds 1 / sqrt(k) to each, so every user has energy 1. Scores are shares of the sum over
    items. Proof note: ``privacy/gaussian/proofs/tallies.md``.
    """

    public_half = POPULARITY
    private_half = TrivialContributions

    def __init__(self, *, discover_share: float | None = None) -> None:
        super().__init__(discover_share=discover_share)
