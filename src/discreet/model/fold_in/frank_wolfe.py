"""A user's row of a Frank-Wolfe run, from that user's own ratings and the public steps.

Step t of T moves a row Y (over all items) toward the released direction v_t and keeps it inside two bounds:

    A = clip(P_Omega(Y) - x, L)        Y <- (1 - 1/T) Y - (c / T) (A . v_t / lambda_t) v_t        |P_Omega(Y)| <= L

with c the bound on the nuclear norm, L the one on a row and lambda_t the released singular value. A row is kept as its
weights on the directions, so nothing has the length of the catalogue; training needs the entries on Omega alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.model.fold_in.histories import Arrays, Rows
from discreet.types import Floats, Indices

__all__ = ["FrankWolfeReplay", "replay", "take_step"]


def take_step(
    indptr: Indices,
    items: Indices,
    targets: Floats,
    fit: Floats,
    direction: Floats,
    eigenvalue: float,
    steps: int,
    nuclear_bound: float,
    row_bound: float,
) -> tuple[Floats, Floats, Floats]:
    """One step of every user: the new fit on Omega, the weight on the new direction, the factor on all weights.

    ``eigenvalue`` is lambda_t squared, as released; a direction without one (zero or below) is passed over.
    """
    gain = nuclear_bound / (steps * np.sqrt(eigenvalue)) if eigenvalue > 0.0 else 0.0
    decay = 1.0 - 1.0 / steps if eigenvalue > 0.0 else 1.0
    counts = np.diff(indptr)
    away, along = fit - targets, direction[items]
    clipped = _shrinks(indptr, away, row_bound)
    weights = -gain * clipped * kernels.row_sums(indptr, away * along)
    moved = decay * fit + np.repeat(weights, counts) * along
    shrinks = _shrinks(indptr, moved, row_bound)
    return moved * np.repeat(shrinks, counts), weights, shrinks


def _shrinks(indptr: Indices, values: Floats, bound: float) -> Floats:
    """What brings each row inside the bound on its norm; 1 where it is."""
    shrinks: Floats = bound / np.maximum(np.sqrt(kernels.row_sums(indptr, values * values)), bound)
    return shrinks


def replay(
    indptr: Indices,
    items: Indices,
    targets: Floats,
    directions: Floats,
    eigenvalues: Floats,
    nuclear_bound: float,
    row_bound: float,
) -> Floats:
    """Users x steps: the weights of each user's row on the directions, after all steps."""
    steps = len(eigenvalues)
    weights = np.zeros((len(indptr) - 1, steps))
    fit = np.zeros(len(items))
    for t in range(steps):
        fit, gain, shrink = take_step(
            indptr, items, targets, fit, directions[:, t], eigenvalues[t], steps, nuclear_bound, row_bound
        )
        weights[:, t] = gain
        weights[:, : t + 1] *= shrink[:, None]
        if t:
            weights[:, :t] *= 1.0 - 1.0 / steps if eigenvalues[t] > 0.0 else 1.0
    return weights


@dataclass(frozen=True, eq=False)
class FrankWolfeReplay:
    """The row that a user would have had in a Frank-Wolfe run, replayed from its released steps.

    Parameters
    ----------
    eigenvalues
        One for each step; the items' factors are the steps' directions.
    nuclear_bound, row_bound
        c and L.
    """

    eigenvalues: Floats
    nuclear_bound: float
    row_bound: float

    def coefficients(self, side: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        """Users x (1 + steps): ``(0, weights on the directions)``; double precision whatever ``kind`` says."""
        weights = replay(
            rows.indptr,
            rows.items,
            rows.above(side),
            side.factors,
            self.eigenvalues,
            self.nuclear_bound,
            self.row_bound,
        )
        return np.column_stack([np.zeros(len(weights)), weights])

    def shown(self, n_items: int) -> Floats:
        """How much of the first coefficient each item is predicted with: it is 0."""
        return np.zeros(n_items)

    def wrong(self, n_items: int, rank: int) -> str | None:
        """What does not fit the arrays."""
        if self.eigenvalues.shape != (rank,) or not np.isfinite(self.eigenvalues).all():
            return "a model of Frank-Wolfe steps needs one finite eigenvalue for each factor"
        if not (self.nuclear_bound > 0 and self.row_bound > 0):
            return "a model of Frank-Wolfe steps needs bounds above zero"
        return None
