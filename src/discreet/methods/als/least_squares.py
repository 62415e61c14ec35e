"""Ratings: offsets and factors of both sides by exact alternating least squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.types import Singles

__all__ = ["LeastSquares"]


class LeastSquares:
    """Where the alternation stands: one row of ``(offset, factors)`` for each item, and after a round for each user.

    Parameters
    ----------
    ratings
        Explicit, over a catalogue.
    rank
        Factors.
    exponent
        Penalties of a row are multiplied by its number of ratings to this power.
    rng
        Of the random start.
    """

    def __init__(self, ratings: Ratings, rank: int, exponent: float, rng: np.random.Generator) -> None:
        self._ratings, self._rank, self._exponent = ratings, rank, exponent
        self._indptr, self._users, position = kernels.transpose(
            ratings.indptr, ratings.items, ratings.n_items
        )
        self._centre = ratings.scale.middle
        self._by_user = (ratings.values - self._centre).astype(np.float32)
        self._by_item = self._by_user[position]
        self._user_scale = np.maximum(np.diff(ratings.indptr), 1).astype(np.float32) ** exponent
        self._item_scale = np.maximum(np.diff(self._indptr), 1).astype(np.float32) ** exponent
        self._item_side = (rng.standard_normal((ratings.n_items, 1 + rank)) * 0.1).astype(np.float32)
        self._item_side[:, 0] = 0.0

    def round(self, offset_penalty: float, penalty: float) -> None:
        """One pass over both sides."""
        users = self._solve_users(offset_penalty, penalty)
        targets = self._by_item - users[self._users, 0]
        self._item_side = kernels.solve_rows(
            self._indptr,
            self._users,
            targets,
            _with_one(users),
            self._ridge(offset_penalty, penalty),
            self._item_scale,
        )

    def error(self, offset_penalty: float, penalty: float, held_out: Ratings) -> float:
        """Root mean squared error on other ratings of the same users, in the same order."""
        users = self._solve_users(offset_penalty, penalty)
        rows = np.repeat(np.arange(held_out.n_users), np.diff(held_out.indptr))
        items = self._item_side[held_out.items]
        predicted = self._centre + items[:, 0] + np.einsum("ij,ij->i", users[rows], _with_one(items))
        predicted = np.clip(predicted, *held_out.scale.range) if held_out.scale.range else predicted
        return float(np.sqrt(np.mean((predicted - held_out.values) ** 2)))

    def item_side(self, offset_penalty: float, penalty: float) -> ItemSide:
        """What serves, with these penalties for everybody's own numbers."""
        side = self._item_side.astype(np.float64)
        fold_in = Ridge(offset_penalty, penalty, self._exponent)
        return ItemSide(self._ratings.scale, self._centre, side[:, 0], side[:, 1:], fold_in)

    def _solve_users(self, offset_penalty: float, penalty: float) -> Singles:
        ratings = self._ratings
        return kernels.solve_rows(
            ratings.indptr,
            ratings.items,
            self._by_user - self._item_side[ratings.items, 0],
            _with_one(self._item_side),
            self._ridge(offset_penalty, penalty),
            self._user_scale,
        )

    def _ridge(self, offset_penalty: float, penalty: float) -> npt.NDArray[np.float32]:
        return np.array([offset_penalty] + [penalty] * self._rank, dtype=np.float32)


def _with_one(coefficients: Singles) -> Singles:
    design = coefficients.copy()
    design[:, 0] = 1.0
    return design
