"""A user's own mean rating, for the items that ask for it, beside a vector by ridge regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.model.fold_in.histories import Arrays, Rows, row_scale, wrong_penalties
from discreet.types import Floats

__all__ = ["OwnMean"]


@dataclass(frozen=True, eq=False)
class OwnMean:
    """A rating is ``centre + s_j m_i + b_j + u_i . v_j`` with m the user's own mean less the centre.

    Parameters
    ----------
    share
        s, one for each item: how much of the user's own mean it is predicted with, 0 or 1. The user has no other
        offset.
    factor_penalty
        Ridge on the user's vector.
    count_exponent
        The penalty is multiplied by ``max(count_i, 1) ** count_exponent``.
    """

    share: Floats
    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def coefficients(self, side: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        """Users x (1 + rank): ``(m_i, u_i)``."""
        ridge = np.full(side.factors.shape[1], self.factor_penalty)
        scale = row_scale(rows, self.count_exponent)
        factors = side.factors.astype(kind)
        solved = kernels.solve_rows(rows.indptr, rows.items, rows.above(side), factors, ridge, scale)
        return np.column_stack([rows.own_means(side.centre), solved.astype(np.float64, copy=False)])

    def shown(self, n_items: int) -> Floats:
        """How much of the first coefficient each item is predicted with."""
        return self.share

    def wrong(self, n_items: int, rank: int) -> str | None:
        """What does not fit the arrays."""
        if self.share.shape != (n_items,):
            return f"the own mean's share has the shape {self.share.shape} and not ({n_items},)"
        if not np.isfinite(self.share).all():
            return "the own mean's share has numbers that are not finite"
        return wrong_penalties(self.factor_penalty, exponent=self.count_exponent)
