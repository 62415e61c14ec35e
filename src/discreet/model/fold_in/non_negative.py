"""A vector without negative entries, for factors that have none (prototypes)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernels.nonnegative import solve_nonnegative
from discreet.model.fold_in.histories import Arrays, Rows, wrong_penalties
from discreet.types import Floats

__all__ = ["NonNegative"]


@dataclass(frozen=True)
class NonNegative:
    """A rating is ``centre + b_j + u_i . v_j`` with u >= 0; u minimises squared residuals plus the penalty.

    Parameters
    ----------
    factor_penalty
        Ridge on the user's vector.
    count_exponent
        The penalty is multiplied by ``max(count_i, 1) ** count_exponent``.
    """

    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def coefficients(self, side: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        """Users x (1 + rank): ``(0, u_i)``; double precision whatever ``kind`` says."""
        penalty = self.factor_penalty * np.maximum(rows.counts, 1.0) ** self.count_exponent
        vectors = solve_nonnegative(rows.indptr, rows.items, rows.above(side), side.factors, penalty)
        return np.column_stack([np.zeros(len(vectors)), vectors])

    def shown(self, n_items: int) -> Floats:
        """How much of the first coefficient each item is predicted with: it is 0."""
        return np.zeros(n_items)

    def wrong(self, n_items: int, rank: int) -> str | None:
        """What does not fit the arrays."""
        return wrong_penalties(self.factor_penalty, exponent=self.count_exponent)
