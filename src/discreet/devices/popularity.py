"""How far a private count of popularity is to be trusted, and the model of lists that it makes.

Every item's estimate has the same known noise, so two questions have exact answers: whether anything at all stands out
of it, and which items do. Works on released numbers alone.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from discreet.devices.estimator import noise_variance
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import ItemWeights, Sums
from discreet.types import Floats

__all__ = ["popularity_list", "stands_out"]

_BY_CHANCE = 1e-3
"""How often noise alone may pass for popularity."""


def stands_out(estimates: Floats, variance: float) -> bool:
    """Whether the estimates differ by more than the noise explains.

    Notes
    -----
    Two tests, each wrong once in two thousand tasks of which nobody said anything: the sum of squares, which sees many
    items that differ a little, and the largest, which sees one that differs much. The variance is an upper bound, so
    both err to the careful side.
    """
    count, half = len(estimates), 0.5 * _BY_CHANCE
    if count < 2:
        return False
    far = (estimates - estimates.mean()) / math.sqrt(variance)
    return bool(
        float(far @ far) > stats.chi2.isf(half, count - 1) or float(far.max()) > stats.norm.isf(half / count)
    )


def popularity_list(side: ItemSide, cost: float, answers: int) -> ItemWeights:
    """The list that popularity alone makes: a table without weights, whose counts carry their noise.

    Parameters
    ----------
    side
        What was released of a task whose goal is ``"rank"``.
    cost, answers
        Epsilon of one answer, and how many there were: what the noise follows from.
    """
    counts = np.zeros(side.n_items) if side.popularity is None else side.popularity
    nothing, none = np.zeros(0, np.float32), np.zeros(0, np.int32)
    noise = math.sqrt(noise_variance(cost, answers))
    return ItemWeights(
        side.scale,
        counts,
        counts if np.ptp(counts) > 0.0 else np.zeros(side.n_items),
        np.zeros(side.n_items + 1, np.int64),
        none,
        nothing,
        nothing,
        np.zeros(side.n_items),
        0.0,
        Sums(none, nothing, 0.0, noise, float(answers), 0.0),
    )
