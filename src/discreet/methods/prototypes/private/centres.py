"""Private choice of centres among the cells: local swaps, each the noisy best of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.kernels.compile import kernel
from discreet.methods.prototypes.private.projection import HALF_SIDE
from discreet.methods.prototypes.shares import ShareTable
from discreet.privacy.pure.gate import PureGate
from discreet.types import Ints, Shorts

__all__ = ["LOSS_STEPS", "Distances", "choose_centres", "nearest"]


LOSS_STEPS = 4096
"""Steps of the largest loss a user can cause."""


@dataclass(frozen=True)
class Distances:
    """Private: each user's squared distance to each candidate, in steps from 0 to `LOSS_STEPS`."""

    steps: Shorts

    @classmethod
    def between(cls, points: Ints, candidates: Ints, loss_cap: float) -> Distances:
        """Exact integers; beyond `loss_cap` squared radii all distances are the same."""
        steps = np.empty((len(points), len(candidates)), dtype=np.int16)
        _measure(points, candidates, max(1, int(loss_cap * HALF_SIDE * HALF_SIDE)), LOSS_STEPS, steps)
        return cls(steps)

    def swap_losses(self, chosen: Ints) -> Ints:
        """Loss after each swap: row for the centre that leaves, column for the candidate that comes."""
        losses = np.zeros((len(chosen), self.steps.shape[1]), dtype=np.int64)
        _swap_losses(self.steps, chosen, np.int64(LOSS_STEPS), losses)
        return losses

    def loss(self, chosen: Ints) -> int:
        """Sum over users of the distance to the nearest of the chosen candidates."""
        return int(self.steps[:, chosen].min(axis=1, initial=LOSS_STEPS).sum(dtype=np.int64))


def choose_centres(
    distances: Distances, k: int, shares: ShareTable, gate: PureGate, rng: np.random.Generator
) -> Ints:
    """Positions of at most k candidates; fewer where there are not as many.

    A user adds between 0 and `LOSS_STEPS` to the loss of every set, so all losses rise together: one-sided scores.
    """
    count = distances.steps.shape[1]
    if count <= k:
        return np.arange(count)
    chosen = rng.choice(count, size=k, replace=False)
    visited = []
    for _ in range(shares.steps - 1):
        others = np.setdiff1d(np.arange(count), chosen)
        swap = gate.lowest(
            "centre swap",
            lambda now=chosen, free=others: distances.swap_losses(now)[:, free].ravel(),  # type: ignore[misc]
            bound=LOSS_STEPS,
            epsilon=shares.swap,
        )
        chosen = chosen.copy()
        chosen[swap // len(others)] = others[swap % len(others)]
        visited.append(chosen)
    best = gate.lowest(
        "centre swap",
        lambda: np.array([distances.loss(one) for one in visited], dtype=np.int64),
        bound=LOSS_STEPS,
        epsilon=shares.swap,
    )
    return visited[best]


def nearest(points: Ints, centres: Ints) -> Ints:
    """The nearest centre of each user, the first of several; each user is in exactly one cluster."""
    found = np.zeros(len(points), dtype=np.int64)
    _nearest(points, centres, found)
    return found


@kernel
def _measure(points: Any, candidates: Any, cap: int, steps: int, out: Any) -> None:
    for i in range(len(points)):
        for j in range(len(candidates)):
            square = 0
            for d in range(points.shape[1]):
                gap = points[i, d] - candidates[j, d]
                square += gap * gap
            out[i, j] = steps if square >= cap else square * steps // cap


@kernel
def _nearest(points: Any, centres: Any, out: Any) -> None:
    for i in range(len(points)):
        best: Any = np.int64(-1)
        for j in range(len(centres)):
            square = 0
            for d in range(points.shape[1]):
                gap = points[i, d] - centres[j, d]
                square += gap * gap
            if best < 0 or square < best:
                best = square
                out[i] = j


@kernel
def _swap_losses(steps: Any, chosen: Any, most: Any, out: Any) -> None:
    users, candidates = steps.shape
    shared = np.zeros(candidates, np.int64)
    for i in range(users):
        first, second, owner = most, most, 0
        for z in range(len(chosen)):
            distance: Any = np.int64(steps[i, chosen[z]])
            if z == 0 or distance < first:
                if z > 0:
                    second = first
                first, owner = distance, z
            elif distance < second:
                second = distance
        for j in range(candidates):
            distance = np.int64(steps[i, j])
            kept: Any = min(distance, first)
            fallen: Any = min(distance, second)
            shared[j] += kept
            out[owner, j] += fallen - kept
    for z in range(len(chosen)):
        for j in range(candidates):
            out[z, j] += shared[j]
