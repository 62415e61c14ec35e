"""Alternating least squares on a silo's own ratings, with a released item side as the prior.

An item's row w_j = (offset, factors) minimises, for the users i of the silo who rated it and their coefficients u_i,

    sum_i (r_ij - centre - a_i - w_j . (1, u_i))^2 + strength n_j^(1/2) |w_j - w0_j|^2_penalty

with w0_j the released row, n_j the number of its ratings here and |.|^2_penalty weighted by the penalties of offsets
and factors. The released rows are surest of what many people rate, so their precision grows with n_j; and an item that
nobody here has rated stays what it was. Factors that the released model does not have start small, have 0 as their
prior and strength 1: the noise of a private run leaves room for few, and a silo's own ratings may tell more. Where
items are ranked, every user adds the weak zeros of plain ALS for clicks.

This looks at ratings as it likes: nothing here is private.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.types import Floats, Indices

__all__ = ["OFFSET_PENALTY", "Refinement"]

OFFSET_PENALTY = 0.4
"""Ridge on offsets, times (number of ratings) ** 0.5, as plain ALS has it for the stars of films and books."""

_EXPONENT = 0.5
_START = 0.1


class Refinement:
    """Where the alternation stands.

    Parameters
    ----------
    start
        The released item side: where the alternation begins, and its prior.
    ratings
        The silo's own, over the same catalogue.
    extra
        Factors beside those of ``start``.
    strength
        How much more the prior weighs than the penalty of plain ALS, which has 0 as its prior.
    gravity
        Weight of every item as a zero, where items are ranked; ignored where ratings are predicted.
    rng
        Of the start of the extra factors.
    """

    def __init__(
        self,
        start: ItemSide,
        ratings: Ratings,
        *,
        extra: int,
        strength: float,
        gravity: float,
        rng: np.random.Generator,
    ) -> None:
        self._start, self._ratings, self._strength = start, ratings, strength
        self._gravity = gravity if start.goal == "rank" else 0.0
        self._values = ratings.scale.evidence(ratings.values) if start.goal == "rank" else ratings.values
        indptr, users, self._order = kernels.transpose(ratings.indptr, ratings.items, ratings.n_items)
        counts = np.diff(indptr)
        self._scale = np.maximum(counts, 1.0) ** _EXPONENT
        size = _balance(start, ratings, self._scale)
        nothing = np.zeros((start.n_items, extra))
        self._prior = np.column_stack([start.offsets, size * start.factors, nothing])
        self._rows = self._prior.copy()
        # An item that nobody here uses stays what it was, in the extra factors too.
        self._rows[:, 1 + start.rank :] = _START * rng.standard_normal(nothing.shape) * (counts > 0)[:, None]
        zeros = self._prior.shape[1] if self._gravity else 0
        self._indptr, self._users, self._own = _with_zeros(indptr, users, ratings.n_users, zeros)

    def round(self, penalty: float) -> None:
        """One pass over both sides."""
        side, ratings = self.item_side(penalty), self._ratings
        coefficients = side.fold_in(ratings.indptr, ratings.items, ratings.values, kind=np.float32)
        design = np.column_stack([np.ones(len(coefficients)), coefficients[:, 1:]])
        owners = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
        targets = np.zeros(len(self._users))
        targets[self._own] = (self._values - side.centre - coefficients[owners, 0])[self._order]
        if self._gravity:
            design = np.vstack([design, np.sqrt(self._gravity) * _root(design)])
        items = np.repeat(np.arange(side.n_items), np.diff(self._indptr))
        targets -= kernels.dot_pairs(self._users, items, design, self._prior)
        moved = kernels.solve_rows(
            self._indptr,
            self._users,
            targets.astype(np.float32),
            design.astype(np.float32),
            self._ridge(penalty),
            self._scale.astype(np.float32),
        )
        self._rows = self._prior + moved

    def item_side(self, penalty: float) -> ItemSide:
        """What serves, with the same penalty for people who join later.

        It does not say how sure it is of its items, and has no guesses about new ones: what the released model knew of
        that is no longer true.
        """
        rule = (
            Clicks(self._gravity, penalty, _EXPONENT)
            if self._start.goal == "rank"
            else Ridge(OFFSET_PENALTY, penalty, _EXPONENT)
        )
        return replace(
            self._start,
            offsets=self._rows[:, 0],
            factors=self._rows[:, 1:],
            rule=rule,
            doubt=None,
            feature_map=None,
        )

    def _ridge(self, penalty: float) -> Floats:
        known = 1 + self._start.rank
        ridge = np.full(self._prior.shape[1], penalty, dtype=np.float32)
        ridge[0] = OFFSET_PENALTY
        ridge[:known] *= self._strength
        return ridge


def _balance(start: ItemSide, ratings: Ratings, scale: Floats) -> float:
    """How many times longer the factors must be for one penalty to suit both sides.

    Where alternating least squares with equal penalties comes to rest, the weighted sums of squares are the same.
    """
    vectors = start.fold_in(ratings.indptr, ratings.items, ratings.values)[:, 1:]
    users = float((np.maximum(np.diff(ratings.indptr), 1.0) ** _EXPONENT) @ np.square(vectors).sum(axis=1))
    items = float(scale @ np.square(start.factors).sum(axis=1))
    return (users / items) ** 0.25 if users > 0.0 and items > 0.0 else 1.0


def _root(design: Floats) -> Floats:
    """As many rows as columns, with the same sum of products as all rows together: they stand for all users."""
    values, basis = np.linalg.eigh(design.T @ design)
    root: Floats = np.sqrt(np.maximum(values, 0.0))[:, None] * basis.T
    return root


def _with_zeros(
    indptr: Indices, users: Indices, n_users: int, zeros: int
) -> tuple[Indices, Indices, Indices]:
    """Each item's users followed by ``zeros`` rows that stand for all of them; and where its own users are."""
    items = len(indptr) - 1
    wider = indptr + zeros * np.arange(items + 1)
    entries = np.empty(int(wider[-1]), dtype=np.int32)
    own = np.arange(len(users)) + zeros * np.repeat(np.arange(items), np.diff(indptr))
    entries[own] = users
    entries[wider[1:, None] - zeros + np.arange(zeros)] = n_users + np.arange(zeros)
    return wider, entries, own
