"""Alternating least squares without privacy: for comparison, and for ``--epsilon inf``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from discreet import kernels
from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.methods.checks import check_items, check_ratings, check_users
from discreet.methods.parameters import Estimator
from discreet.methods.public_half import check_features
from discreet.methods.settings import Auto, Exponent, Positive, Rank, Rounds, Settings
from discreet.model import Model
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.statement import Statement
from discreet.types import Singles

__all__ = ["ALS", "ALSSettings"]

Progress = Callable[[str, int, int], None]


class ALSSettings(Settings):
    """Plain ALS; described in :class:`discreet.ALS`."""

    rank: Rank = 64
    rounds: Rounds = 15
    offset_penalty: Positive = 0.1
    penalty: Positive | Auto = "auto"
    count_exponent: Exponent | Auto = "auto"
    gravity: Positive | Auto = "auto"


class ALS(Estimator):
    """Matrix factorisation by exact alternating least squares. NOT private.

    Explicit feedback has user and item offsets inside the least squares; implicit feedback has the gravity term
    (all unseen items as zeros with a small weight).

    Parameters
    ----------
    rank, rounds
        Factors, and passes over both sides.
    offset_penalty, penalty, count_exponent
        Ridge on offsets and factors, times (number of ratings) ** count_exponent; ``"auto"`` is 0.075 with
        exponent 1 for ratings and 5 with exponent 0 for clicks.
    gravity
        Weight of unseen items as zeros (clicks); ``"auto"`` is 12 times the share of items that a user takes.

    Attributes
    ----------
    model_, statement_, rank_, rounds_
        As for :class:`discreet.BudgetedALS`; the statement says that there is no privacy guarantee.
    """

    settings_type = ALSSettings

    model_: Model
    statement_: Statement
    rank_: int
    rounds_: int

    def __init__(
        self,
        *,
        rank: int = 64,
        rounds: int = 15,
        offset_penalty: float = 0.1,
        penalty: float | Literal["auto"] = "auto",
        count_exponent: float | Literal["auto"] = "auto",
        gravity: float | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(
            rank=rank,
            rounds=rounds,
            offset_penalty=offset_penalty,
            penalty=penalty,
            count_exponent=count_exponent,
            gravity=gravity,
        )

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
            ratings = ratings.with_catalogue(Catalogue(ratings.provisional_ids))
        assert ratings.catalogue is not None
        check_features("als", used=False, given=ratings.catalogue.features is not None)
        check_items(ratings.n_items)
        check_users(ratings)
        generator = np.random.default_rng(rng)
        train = _explicit if ratings.explicit else _implicit
        settings: ALSSettings = self.settings
        side = train(settings, ratings, generator, progress)
        self.rank_, self.rounds_ = settings.rank, settings.rounds
        self.statement_ = Statement.not_private("trained by plain ALS, which adds no noise")
        self.model_ = Model(
            side, ratings.catalogue, self.statement_, self.method_name(), settings.model_dump(mode="json")
        )
        return self


def _explicit(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, progress: Progress | None
) -> ItemSide:
    centre = ratings.scale.middle
    indptr, users, position = kernels.transpose(ratings.indptr, ratings.items, ratings.n_items)
    penalty = 0.075 if settings.penalty == "auto" else settings.penalty
    exponent = 1.0 if settings.count_exponent == "auto" else settings.count_exponent
    ridge = np.array([settings.offset_penalty] + [penalty] * settings.rank, dtype=np.float32)
    by_user = (ratings.values - centre).astype(np.float32)
    by_item = by_user[position]
    user_scale = np.maximum(np.diff(ratings.indptr), 1).astype(np.float32) ** exponent
    item_scale = np.maximum(np.diff(indptr), 1).astype(np.float32) ** exponent
    item_side = _start(ratings, settings.rank, rng)
    item_side[:, 0] = 0.0
    for done in range(settings.rounds):
        _report(progress, done, settings.rounds)
        targets = by_user - item_side[ratings.items, 0]
        user_side = kernels.solve_rows(
            ratings.indptr, ratings.items, targets, _with_one(item_side), ridge, user_scale
        )
        targets = by_item - user_side[users, 0]
        item_side = kernels.solve_rows(indptr, users, targets, _with_one(user_side), ridge, item_scale)
    _report(progress, settings.rounds, settings.rounds)
    return ItemSide(
        ratings.scale,
        centre,
        item_side[:, 0].astype(np.float64),
        item_side[:, 1:].astype(np.float64),
        Ridge(settings.offset_penalty, penalty, exponent),
    )


def _implicit(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, progress: Progress | None
) -> ItemSide:
    indptr, users, _ = kernels.transpose(ratings.indptr, ratings.items, ratings.n_items)
    penalty = 5.0 if settings.penalty == "auto" else settings.penalty
    exponent = 0.0 if settings.count_exponent == "auto" else settings.count_exponent
    gravity = settings.gravity
    if gravity == "auto":
        gravity = 12.0 * ratings.n_ratings / (ratings.n_users * ratings.n_items)
    ridge = np.full(settings.rank, penalty, dtype=np.float32)
    ones = np.ones(ratings.n_ratings, dtype=np.float32)
    user_scale = np.maximum(np.diff(ratings.indptr), 1).astype(np.float32) ** exponent
    item_scale = np.maximum(np.diff(indptr), 1).astype(np.float32) ** exponent
    factors = _start(ratings, settings.rank, rng)[:, 1:]
    for done in range(settings.rounds):
        _report(progress, done, settings.rounds)
        gram = gravity * (factors.T @ factors)
        vectors = kernels.solve_rows(
            ratings.indptr, ratings.items, ones, factors, ridge, user_scale, gram=gram
        )
        gram = gravity * (vectors.T @ vectors)
        factors = kernels.solve_rows(indptr, users, ones, vectors, ridge, item_scale, gram=gram)
    _report(progress, settings.rounds, settings.rounds)
    return ItemSide(
        ratings.scale,
        0.0,
        np.zeros(ratings.n_items),
        factors.astype(np.float64),
        Clicks(gravity, penalty, exponent),
    )


def _start(ratings: Ratings, rank: int, rng: np.random.Generator) -> Singles:
    return (rng.standard_normal((ratings.n_items, 1 + rank)) * 0.1).astype(np.float32)


def _with_one(coefficients: Singles) -> Singles:
    design = coefficients.copy()
    design[:, 0] = 1.0
    return design


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress("training", done, total)
