"""The item side: everything a user needs from the released model, and how one user's vector follows from it.

These arrays are public. ``fold_in`` runs on one user's own ratings and the public arrays only, so it costs no
privacy budget, in training and afterwards; the same function serves both, which is why a user who was never in
the training data is treated exactly like one who was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet import kernels
from discreet.model.fold_in.replay import replay
from discreet.types import Floats, Indices

__all__ = ["ItemSide"]


@dataclass(frozen=True)
class ItemSide:
    """Offsets, factors and the fold-in rule.

    Parameters
    ----------
    feedback
        ``"explicit"``: a rating is ``centre + a_i + b_j + u_i . v_j``. ``"implicit"``: a score is ``b_j + u_i . v_j``.
    centre
        Public middle of the model, usually the middle of the rating range; 0 for implicit feedback.
    offsets, factors
        ``b`` (items) and ``V`` (items x rank).
    rating_range
        Predictions are clipped to it; ``None`` for implicit feedback.
    offset_penalty, factor_penalty
        Ridge on the user's offset and factors.
    count_exponent
        Both penalties are multiplied by ``max(count_i, 1) ** count_exponent``.
    gravity
        Weight of all unseen items as zeros (implicit feedback only).
    own_mean
        How much of a user's own mean rating (less the centre) each item is predicted with, 0 or 1; the user has no
        other offset then. ``None``: the user's offset is part of the ridge problem and of every prediction.
    eigenvalues, nuclear_bound, row_bound
        For a model whose factors are the steps of a Frank-Wolfe run: see `discreet.model.fold_in.replay`.
    """

    feedback: Literal["explicit", "implicit"]
    centre: float
    offsets: Floats
    factors: Floats
    rating_range: tuple[float, float] | None
    offset_penalty: float = 1.0
    factor_penalty: float = 1.0
    count_exponent: float = 0.0
    gravity: float = 0.0
    own_mean: Floats | None = None
    eigenvalues: Floats | None = None
    nuclear_bound: float = 0.0
    row_bound: float = 0.0

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        return int(self.offsets.shape[0])

    @property
    def rank(self) -> int:
        """Number of factors; 0 means offsets alone."""
        return int(self.factors.shape[1])

    def fold_in(
        self, indptr: Indices, items: Indices, values: Floats, *, kind: type[np.floating] = np.float64
    ) -> Floats:
        """Each user's own coefficients ``(a_i, u_i)`` from that user's ratings alone.

        ``kind`` is the arithmetic of the solves: float32 takes half the time, which training uses, where the
        outcome goes onto a 14-bit grid anyway.
        """
        if self.feedback == "implicit":
            values = np.ones(len(items))
        if self.eigenvalues is not None:
            return self._with_own_mean(indptr, items, values, self._replay(indptr, items, values))
        if self.feedback == "implicit":
            return self._fold_in_implicit(indptr, items, kind)
        if self.own_mean is not None:
            return self._with_own_mean(
                indptr, items, values, self._fold_in_factors(indptr, items, values, kind)
            )
        return self._fold_in_explicit(indptr, items, values, kind)

    def predict(self, coefficients: Floats, users: Indices, items: Indices) -> Floats:
        """Predicted rating (clipped to the range) or score for pairs of user row and item index."""
        raw = kernels.dot_pairs(users, items, coefficients, self.design())
        raw += self.centre + self.offsets[items]
        if self.rating_range is not None:
            np.clip(raw, *self.rating_range, out=raw)
        return raw

    def design(self) -> Floats:
        """Items x (1 + rank): the feature row each item shows to a user, ``(1, v_j)`` or ``(own_mean_j, v_j)``."""
        first = np.ones(self.n_items) if self.own_mean is None else self.own_mean
        return np.column_stack([first, self.factors])

    def _fold_in_explicit(
        self, indptr: Indices, items: Indices, values: Floats, kind: type[np.floating]
    ) -> Floats:
        targets = values - self.centre - self.offsets[items]
        ridge = np.full(1 + self.rank, self.factor_penalty)
        ridge[0] = self.offset_penalty
        design = self.design().astype(kind)
        solved = kernels.solve_rows(indptr, items, targets, design, ridge, self._row_scale(indptr))
        return solved.astype(np.float64, copy=False)

    def _fold_in_factors(
        self, indptr: Indices, items: Indices, values: Floats, kind: type[np.floating]
    ) -> Floats:
        ridge = np.full(self.rank, self.factor_penalty)
        targets = values - self.centre - self.offsets[items]
        solved = kernels.solve_rows(
            indptr, items, targets, self.factors.astype(kind), ridge, self._row_scale(indptr)
        )
        return solved.astype(np.float64, copy=False)

    def _replay(self, indptr: Indices, items: Indices, values: Floats) -> Floats:
        assert self.eigenvalues is not None
        targets = values - self.centre - self.offsets[items]
        return replay(
            indptr, items, targets, self.factors, self.eigenvalues, self.nuclear_bound, self.row_bound
        )

    def _with_own_mean(self, indptr: Indices, items: Indices, values: Floats, vectors: Floats) -> Floats:
        """Vectors with the user's own mean, less the centre, in front; 0 for a user without a history."""
        counts = np.diff(indptr)
        own = np.zeros(len(counts))
        filled = counts > 0
        if filled.any():
            own[filled] = np.add.reduceat(values, indptr[:-1][filled]) / counts[filled] - self.centre
        return np.column_stack([own, vectors])

    def _fold_in_implicit(self, indptr: Indices, items: Indices, kind: type[np.floating]) -> Floats:
        coefficients = np.zeros((len(indptr) - 1, 1 + self.rank))
        if self.rank:
            coefficients[:, 1:] = kernels.solve_rows(
                indptr,
                items,
                1.0 - self.offsets[items],
                self.factors.astype(kind),
                np.full(self.rank, self.factor_penalty),
                row_scale=self._row_scale(indptr),
                gram=self.gravity * (self.factors.T @ self.factors),
                rhs=-self.gravity * (self.factors.T @ self.offsets),
            )
        return coefficients

    def _row_scale(self, indptr: Indices) -> Floats | None:
        if self.count_exponent == 0.0:
            return None
        return np.maximum(np.diff(indptr), 1.0) ** self.count_exponent
