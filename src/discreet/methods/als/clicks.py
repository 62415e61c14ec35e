"""Clicks, or ratings to rank by: factors of both sides by exact least squares, with unseen items as weak zeros."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.als.settings import ALSSettings
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide

__all__ = ["train_clicks"]

# Decision 42. The penalty is that of a user with the mean number of clicks, as a share of it.
_RANK = 128
_ROUNDS = 8
_PENALTY_SHARE = 0.065
_EXPONENT = 0.5
_GRAVITY = 3.0


def train_clicks(
    settings: ALSSettings,
    ratings: Ratings,
    rng: np.random.Generator,
    progress: Callable[[str, int, int], None],
) -> tuple[ItemSide, int]:
    """The item side and how many rounds it took."""
    rank = _RANK if settings.rank == "auto" else settings.rank
    rounds = _ROUNDS if settings.rounds == "auto" else settings.rounds
    exponent = _EXPONENT if settings.count_exponent == "auto" else settings.count_exponent
    clicks = max(ratings.n_ratings, 1) / max(ratings.n_users, 1)
    penalty = _PENALTY_SHARE * clicks ** (1.0 - exponent) if settings.penalty == "auto" else settings.penalty
    gravity = _GRAVITY * clicks / _items_in_use(ratings) if settings.gravity == "auto" else settings.gravity
    indptr, users, position = kernels.transpose(ratings.indptr, ratings.items, ratings.n_items)
    ridge = np.full(rank, penalty, dtype=np.float32)
    by_user = ratings.scale.evidence(ratings.values).astype(np.float32)
    by_item = by_user[position]
    user_scale = np.maximum(np.diff(ratings.indptr), 1).astype(np.float32) ** exponent
    item_scale = np.maximum(np.diff(indptr), 1).astype(np.float32) ** exponent
    factors = (rng.standard_normal((ratings.n_items, rank)) * 0.1).astype(np.float32)
    # An item that nobody uses ends as zeros; it must not weigh at the start either.
    factors[np.diff(indptr) == 0] = 0.0
    for done in range(rounds):
        progress("training", done, rounds)
        gram = gravity * (factors.T @ factors)
        vectors = kernels.solve_rows(
            ratings.indptr, ratings.items, by_user, factors, ridge, user_scale, gram=gram
        )
        gram = gravity * (vectors.T @ vectors)
        factors = kernels.solve_rows(indptr, users, by_item, vectors, ridge, item_scale, gram=gram)
    progress("training", rounds, rounds)
    fold_in = Clicks(gravity, penalty, exponent)
    zeros = np.zeros(ratings.n_items)
    return ItemSide(ratings.scale, 0.0, zeros, factors.astype(np.float64), fold_in), rounds


def _items_in_use(ratings: Ratings) -> float:
    """1 / sum of squared shares of the clicks: how many items would be in use if all were used alike.

    An item that nobody uses adds nothing.
    """
    counts = np.bincount(ratings.items, minlength=ratings.n_items).astype(np.float64)
    shares = counts / max(ratings.n_ratings, 1)
    return 1.0 / max(float((shares**2).sum()), 1e-12)
