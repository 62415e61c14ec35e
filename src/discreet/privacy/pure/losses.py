"""Choices by the noisy minimum of losses, each a sum over users of a capped squared distance.

Proof note: ``proofs/clusters.md``. A user adds between 0 and `LOSS_STEPS` to every loss, so all of them rise together
when one comes: one-sided scores, as the gate's noisy minimum needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.privacy.bounded_points import HALF_SIDE
from discreet.privacy.bounded_rows import BoundedRows
from discreet.privacy.pure.gate import PureGate
from discreet.types import Floats, Ints, Shorts

__all__ = ["LOSS_STEPS", "Distances", "nearest_tables"]


LOSS_STEPS = 4096
"""Steps of the largest loss a user can cause."""


@dataclass(frozen=True)
class Distances:
    """Private: each user's squared distance to each candidate, in steps from 0 to `LOSS_STEPS`."""

    steps: Shorts

    @classmethod
    def between(cls, points: Ints, candidates: Ints, loss_cap: float) -> Distances:
        """Exact integers; beyond `loss_cap` squared half sides of the cube all distances are the same."""
        cap = max(1, int(loss_cap * HALF_SIDE * HALF_SIDE))
        # Within the cube no square passes 64 bits.
        inside, among = (np.clip(part, -HALF_SIDE, HALF_SIDE) for part in (points, candidates))
        return cls(kernels.capped_distances(inside, among, cap, LOSS_STEPS))

    @property
    def n_candidates(self) -> int:
        """How many candidates there are."""
        return int(self.steps.shape[1])

    def swap_losses(self, chosen: Ints) -> Ints:
        """Loss after each swap: row for the centre that leaves, column for the candidate that comes."""
        return kernels.swap_losses(self.steps, chosen)

    def loss(self, chosen: Ints) -> int:
        """Sum over users of the distance to the nearest of the chosen candidates."""
        return int(self.steps[:, chosen].min(axis=1, initial=LOSS_STEPS).sum(dtype=np.int64))

    def best_swap(
        self, gate: PureGate, name: str, chosen: Ints, others: Ints, *, epsilon: float
    ) -> tuple[int, int]:
        """Which of the chosen should leave for which of the others."""
        best = gate.lowest(
            name, lambda: self.swap_losses(chosen)[:, others].ravel(), bound=LOSS_STEPS, epsilon=epsilon
        )
        return best // len(others), best % len(others)

    def best_set(self, gate: PureGate, name: str, sets: Sequence[Ints], *, epsilon: float) -> int:
        """Which of several sets of candidates is nearest to the users."""
        return gate.lowest(
            name,
            lambda: np.array([self.loss(one) for one in sets], dtype=np.int64),
            bound=LOSS_STEPS,
            epsilon=epsilon,
        )


def nearest_tables(
    gate: PureGate,
    name: str,
    rows: BoundedRows,
    tables: Sequence[Floats],
    *,
    loss_cap: float,
    whole: bool,
    epsilon: float,
) -> int:
    """Which of several released tables has rows nearest to the users' rows.

    Parameters
    ----------
    tables
        Public: ratings less the centre, a column for each item.
    loss_cap
        A user's squared distance counts up to so many squared norms of a row.
    whole
        Whether an item that a user has not rated counts as zero; it is left out otherwise.

    Notes
    -----
    **Privacy.** A user adds the distance to the nearest row of each table, within 0..`LOSS_STEPS`.
    """
    bounds, pattern = rows.bounds, rows.pattern
    cap = max(1, int(loss_cap * bounds.norm**2))

    def loss(table: Floats) -> int:
        steps = kernels.row_distances(
            pattern.indptr, pattern.items, rows.values, bounds.on_grid(table), cap, LOSS_STEPS, whole=whole
        )
        return int(steps.sum())

    return gate.lowest(
        name,
        lambda: np.array([loss(table) for table in tables], dtype=np.int64),
        bound=LOSS_STEPS,
        epsilon=epsilon,
    )
