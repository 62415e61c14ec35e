"""Private choice of centres among the cells: local swaps, each the noisy best of all."""

from __future__ import annotations

import numpy as np

from discreet.methods.prototypes.shares import ShareTable
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.losses import Distances
from discreet.types import Ints

__all__ = ["choose_centres"]


def choose_centres(
    distances: Distances, k: int, shares: ShareTable, gate: PureGate, rng: np.random.Generator
) -> Ints:
    """Positions of at most k candidates; fewer where there are not as many."""
    count = distances.n_candidates
    if count <= k:
        return np.arange(count)
    chosen = rng.choice(count, size=k, replace=False)
    visited = []
    for _ in range(shares.steps - 1):
        others = np.setdiff1d(np.arange(count), chosen)
        leaves, comes = distances.best_swap(gate, "centre swap", chosen, others, epsilon=shares.swap)
        chosen = chosen.copy()
        chosen[leaves] = others[comes]
        visited.append(chosen)
    return visited[distances.best_set(gate, "centre swap", visited, epsilon=shares.swap)]
