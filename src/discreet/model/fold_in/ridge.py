"""Ridge regression of a user's ratings on the items' features: the user's offset and vector together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.model.fold_in.histories import Arrays, Rows, row_scale, wrong_penalties
from discreet.types import Floats

__all__ = ["Ridge"]


@dataclass(frozen=True)
class Ridge:
    """A rating is ``centre + a_i + b_j + u_i . v_j``; a and u minimise squared residuals plus the penalties.

    Parameters
    ----------
    offset_penalty, factor_penalty
        Ridge on the user's offset and vector.
    count_exponent
        Both are multiplied by ``max(count_i, 1) ** count_exponent``.
    """

    offset_penalty: float = 1.0
    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def coefficients(self, side: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        """Users x (1 + rank): ``(a_i, u_i)``."""
        ridge = np.full(1 + side.factors.shape[1], self.factor_penalty)
        ridge[0] = self.offset_penalty
        design = np.column_stack([self.shown(len(side.offsets)), side.factors]).astype(kind)
        scale = row_scale(rows, self.count_exponent)
        above = kernels.above_offsets(rows.items, rows.values, side.offsets, side.centre, kind)
        solved = kernels.solve_rows(rows.indptr, rows.items, above, design, ridge, scale)
        return solved.astype(np.float64, copy=False)

    def shown(self, n_items: int) -> Floats:
        """How much of the first coefficient each item is predicted with: all of the offset."""
        return np.ones(n_items)

    def wrong(self, n_items: int, rank: int) -> str | None:
        """What does not fit the arrays."""
        return wrong_penalties(self.offset_penalty, self.factor_penalty, exponent=self.count_exponent)
