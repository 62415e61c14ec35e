"""Alternating least squares without privacy: the yardstick of all private methods."""

from __future__ import annotations

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.methods.als.clicks import train_clicks
from discreet.methods.als.ratings import ALSSettings, Progress, train_ratings
from discreet.methods.checks import check_items, check_ratings, check_users
from discreet.methods.public.half import check_features
from discreet.methods.public.parameters import Estimator
from discreet.model import Model
from discreet.privacy.costs import Carried
from discreet.privacy.statement import Statement

__all__ = ["ALS"]


class ALS(Estimator):
    """Matrix factorisation by exact alternating least squares. NOT private.

    Explicit feedback has user and item offsets inside the least squares; implicit feedback has item offsets and the
    gravity term (all unseen items as zeros with a small weight).

    Every default is ``"auto"``: it is chosen from the data, so that the yardstick is a strong one without tuning.
    A tenth of the ratings or clicks is held out to judge by, which about
    doubles the time of training.

    Notes
    -----
    ``model_``, ``statement_``, ``rank_`` and ``rounds_`` are as for :class:`discreet.BudgetedALS`; the statement says
    that there is no privacy guarantee.
    """

    settings_type = ALSSettings

    model_: Model
    statement_: Statement
    rank_: int
    rounds_: int

    @classmethod
    def method_name(cls) -> str:
        """On the command line and in saved models."""
        return "als"

    def fit(
        self,
        ratings: Ratings,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
    ) -> ALS:
        """Train. Without a catalogue the items seen are the catalogue, which a private method would refuse."""
        check_ratings(ratings)
        if ratings.catalogue is None:
            assert ratings.provisional_ids is not None
            seen = Catalogue(ratings.provisional_ids)
            ratings = ratings.with_catalogue(
                seen.found_by(Carried(fault="its catalogue was read off ratings by plain ALS, without noise"))
            )
        assert ratings.catalogue is not None
        check_features("als", used=False, given=ratings.catalogue.features is not None)
        check_items(ratings.n_items)
        check_users(ratings)
        generator = np.random.default_rng(rng)
        settings: ALSSettings = self.settings
        train = train_ratings if ratings.explicit and settings.goal == "rate" else train_clicks
        side, self.rounds_ = train(settings, ratings, generator, progress or _silent)
        self.rank_ = side.rank
        statement = Statement.not_private("trained by plain ALS, which adds no noise")
        said = settings.model_dump(mode="json") | {"goal": side.goal}
        self.model_ = Model(side, ratings.catalogue, statement, self.method_name(), said)
        self.statement_ = self.model_.statement
        return self


def _silent(what: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""
