"""Lists under differential privacy from one release of pairs: the default method."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings, engine_of
from discreet.methods.checks import check_items, check_ratings
from discreet.methods.ease.private.contributions import EASEContributions
from discreet.methods.ease.public.train import EASE_HALF
from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import Facts, described
from discreet.methods.public.protocol import Progress, ProtocolRun
from discreet.model import Model
from discreet.model.start import EarlierSums
from discreet.privacy.budget import Budget
from discreet.privacy.statement import Statement

__all__ = ["EASE"]


class EASE(PrivateMethod):
    """Lists from one noisy sum of the pairs that people take together, and a formula.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Two Gaussian releases: a count for
    each item with the number of users (5 % of mu^2), and a sum for each pair of the head. Every user's contribution has
    length 1 at most in each, as whole numbers that the gate measures again. All else follows from the releases. Proof
    note: ``privacy/gaussian/proofs/pairs.md``.

    Without a budget the same code is a yardstick that is not private, and its statement says so.
    """

    public_half = EASE_HALF
    private_half = EASEContributions

    def fit(self, ratings: AnyRatings, budget: Budget | None = None, **options: Any) -> Self:
        """Train within a budget, as every private method does; without one, not privately.

        Without a budget and with ``start`` the exact sums of these ratings are added to the released ones of an earlier
        model, for whoever holds the ratings alone (:func:`discreet.silos.refined`).

        See :meth:`discreet.methods.method.PrivateMethod.fit` for the options.
        """
        if budget is not None:
            return super().fit(ratings, budget, **options)
        return self._fit_openly(ratings, **options)

    def _fit_openly(
        self,
        ratings: AnyRatings,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
        start: Model | None = None,
    ) -> Self:
        """The same two sums without noise."""
        check_ratings(ratings)
        if ratings.catalogue is None:
            assert isinstance(ratings, Ratings)
            assert ratings.provisional_ids is not None
            ratings = ratings.with_catalogue(Catalogue(ratings.provisional_ids))
        assert ratings.catalogue is not None
        check_items(ratings.n_items)
        features = ratings.catalogue.features
        self.public_half.check_features(features is not None)
        why, earlier = "trained without noise, as a yardstick", None
        if start is not None:
            self.public_half.check_start(start)
            earlier = EarlierSums.of(start, ratings.catalogue)
            why = (
                f"it holds its holder's own ratings without noise, beside what model {start.digest[:16]} released; it "
                "is for this holder alone and not to be released"
            )
        facts = Facts(
            ratings.n_items, ratings.scale, Budget(1.0, 1e-6), np.inf, features=features, earlier=earlier
        )
        talk = ProtocolRun(self.public_half, self.settings, facts, np.random.default_rng(rng))
        engine = engine_of(self.private_half, ratings)
        while (query := talk.query) is not None:
            if progress is not None:
                progress("training", talk.done, 2)
            talk.take({total.name: total.value.astype(np.float64) for total in engine.totals(query)})
        trained = talk.trained
        assert trained is not None
        statement = Statement.not_private(why)
        said = described(self.public_half, self.settings, trained)
        return self._learnt(
            trained, Model(trained.side, ratings.catalogue, statement, self.method_name(), said)
        )
