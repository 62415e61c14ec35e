"""Clicks, or ratings to rank by: offsets of items and factors of both sides by exact alternating least squares."""

from __future__ import annotations

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.types import Singles

__all__ = ["ClickFactors"]


class ClickFactors:
    """Where the alternation stands: what was taken is 1, or what its rating says, and everything, weakly, zero.

    An item's offset is the score that everybody gives it; without one, factors have to hold popularity too.

    Parameters
    ----------
    ratings
        Clicks, or ratings to rank by, over a catalogue.
    rank
        Factors.
    gravity
        Weight of every item as a zero.
    exponent
        Penalties of a row are multiplied by its number of clicks to this power. Offsets have no penalty.
    rng
        Of the random start.
    """

    def __init__(
        self, ratings: Ratings, rank: int, gravity: float, exponent: float, rng: np.random.Generator
    ) -> None:
        self._ratings, self._rank, self._gravity, self._exponent = ratings, rank, gravity, exponent
        self._indptr, self._users, position = kernels.transpose(
            ratings.indptr, ratings.items, ratings.n_items
        )
        self._by_user = ratings.scale.opinions(ratings.values).astype(np.float32)
        self._by_item = self._by_user[position]
        counts = np.diff(self._indptr)
        self._user_scale = np.maximum(np.diff(ratings.indptr), 1).astype(np.float32) ** exponent
        self._item_scale = np.maximum(counts, 1).astype(np.float32) ** exponent
        taken = counts / max(ratings.n_users, 1)
        self._offsets: Singles = (taken / (taken + gravity)).astype(np.float32)
        self._factors: Singles = (rng.standard_normal((ratings.n_items, rank)) * 0.1).astype(np.float32)
        # An item that nobody uses ends as zeros; it must not weigh at the start either.
        self._factors[counts == 0] = 0.0

    def round(self, penalty: float) -> None:
        """One pass over both sides."""
        self._offsets, self._factors = kernels.solve_offset_rows(
            self._indptr,
            self._users,
            self._by_item,
            self._solve_users(penalty),
            self._ridge(penalty),
            self._item_scale,
            self._gravity,
        )

    def item_side(self, penalty: float) -> ItemSide:
        """What serves, with the same penalty for people who join later."""
        offsets, factors = self._offsets.astype(np.float64), self._factors.astype(np.float64)
        return ItemSide(
            self._ratings.scale, 0.0, offsets, factors, Clicks(self._gravity, penalty, self._exponent)
        )

    def _solve_users(self, penalty: float) -> Singles:
        ratings, factors = self._ratings, self._factors
        return kernels.solve_rows(
            ratings.indptr,
            ratings.items,
            kernels.above_offsets(ratings.items, self._by_user, self._offsets, kind=np.float32),
            factors,
            self._ridge(penalty),
            self._user_scale,
            gram=self._gravity * (factors.T @ factors),
            rhs=-self._gravity * (factors.T @ self._offsets),
        )

    def _ridge(self, penalty: float) -> Singles:
        return np.full(self._rank, penalty, dtype=np.float32)
