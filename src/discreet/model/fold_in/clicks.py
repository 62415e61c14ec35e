"""Clicks: what a user took counts as 1, or as what its rating says, and everything else, weakly, as 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.model.fold_in.histories import Arrays, Rows, row_scale, wrong_penalties
from discreet.types import Floats

__all__ = ["Clicks"]


@dataclass(frozen=True)
class Clicks:
    """A score is ``b_j + u_i . v_j``; u minimises squared residuals on what was taken, gravity and the penalty.

    The values of the rows are opinions (`RatingScale.opinions`): 1 for a click, below 0 for a bad rating.

    Parameters
    ----------
    gravity
        Weight of every item as a zero, as far as it was there in training.
    factor_penalty
        Ridge on the user's vector.
    count_exponent
        The penalty is multiplied by ``max(count_i, 1) ** count_exponent``.
    """

    gravity: float = 0.0
    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def coefficients(self, side: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        """Users x (1 + rank): ``(0, u_i)``; there is no user offset, which would not change any order."""
        rank = side.factors.shape[1]
        coefficients = np.zeros((len(rows.indptr) - 1, 1 + rank))
        if rank:
            squares, product = side.moments
            coefficients[:, 1:] = kernels.solve_rows(
                rows.indptr,
                rows.items,
                kernels.above_offsets(rows.items, rows.values, side.offsets, kind=kind),
                side.factors.astype(kind),
                np.full(rank, self.factor_penalty),
                row_scale=row_scale(rows, self.count_exponent),
                gram=self.gravity * squares,
                rhs=-self.gravity * product,
            )
        return coefficients

    def shown(self, n_items: int) -> Floats:
        """How much of the first coefficient each item is predicted with: it is 0."""
        return np.ones(n_items)

    def wrong(self, n_items: int, rank: int) -> str | None:
        """What does not fit the arrays."""
        return wrong_penalties(self.gravity, self.factor_penalty, exponent=self.count_exponent)
