"""Alternating least squares without privacy: the yardstick, and the honest answer to ``--epsilon inf``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from discreet import kernels
from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.methods.checks import check_items, check_users
from discreet.methods.settings import ALSSettings
from discreet.model import Model
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.statement import Statement
from discreet.types import Singles

__all__ = ["ALS"]

Progress = Callable[[str, int, int], None]


class ALS:
    """Matrix factorisation by exact alternating least squares. NOT private.

    Explicit feedback has user and item offsets inside the least squares; implicit feedback has the gravity term
    (all unseen items as zeros with a small weight).

    Parameters
    ----------
    rank, rounds
        Factors, and passes over both sides.
    **settings
        See :class:`discreet.methods.settings.ALSSettings`.

    Attributes
    ----------
    model_, statement_, rank_, rounds_
        As for :class:`discreet.methods.budgeted.estimator.BudgetedALS`; the statement says that nothing is promised.
    """

    name: ClassVar[str] = "als"
    settings_type: ClassVar[type[ALSSettings]] = ALSSettings

    model_: Model
    statement_: Statement
    rank_: int
    rounds_: int

    def __init__(self, *, rank: int = 64, rounds: int = 15, **settings: Any) -> None:
        self.settings = ALSSettings.checked(rank=rank, rounds=rounds, **settings)

    def fit(
        self,
        ratings: Ratings,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
    ) -> ALS:
        """Train. Without a catalogue the items seen are the catalogue, which a private method would refuse."""
        if ratings.catalogue is None:
            assert ratings.provisional_ids is not None
            ratings = ratings.with_catalogue(Catalogue(ratings.provisional_ids))
        assert ratings.catalogue is not None
        check_items(ratings.n_items)
        check_users(ratings)
        generator = np.random.default_rng(rng)
        train = _explicit if ratings.explicit else _implicit
        side = train(self.settings, ratings, generator, progress)
        self.rank_, self.rounds_ = self.settings.rank, self.settings.rounds
        self.statement_ = Statement.not_private("trained by plain ALS, which adds no noise")
        self.model_ = Model(
            side, ratings.catalogue, self.statement_, self.name, self.settings.model_dump(mode="json")
        )
        return self


def _explicit(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, progress: Progress | None
) -> ItemSide:
    centre = ratings.scale.middle
    indptr, users, position = kernels.transpose(ratings.indptr, ratings.items, ratings.n_items)
    penalty = 0.075 if settings.factor_penalty == "auto" else settings.factor_penalty
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
    penalty = 5.0 if settings.factor_penalty == "auto" else settings.factor_penalty
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
