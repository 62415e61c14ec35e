"""One Frank-Wolfe step of every row of a sparse matrix, on its own entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Array, Floats, Indices

__all__ = ["frank_wolfe_step"]


def frank_wolfe_step(
    indptr: Indices,
    items: Indices,
    targets: Array,
    fit: Array,
    direction: Array,
    gain: float,
    decay: float,
    bound: float,
) -> tuple[Floats, Floats, Floats]:
    """Move every row's fit along one direction and back inside the bound.

    With e the row's entries, A = (fit - targets) scaled to norm at most ``bound`` and w = -gain A . direction,

        fit <- shrink (decay fit + w direction),     shrink such that the row's fit has norm at most ``bound``

    Returns
    -------
    fit, weights, shrinks
        The new fit (one number for each entry), and w and shrink of each row. A row's numbers depend on nothing but
        that row.
    """
    n, m = len(indptr) - 1, len(direction)
    check_rows(indptr, items, m)
    check_shapes(targets=(targets, items.shape), fit=(fit, items.shape))
    moved, weights, shrinks = np.empty(len(items)), np.zeros(n), np.ones(n)
    share(
        _frank_wolfe_step,
        n,
        4.0 * len(items),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(targets, np.float64),
        np.ascontiguousarray(fit, np.float64),
        np.ascontiguousarray(direction, np.float64),
        float(gain),
        float(decay),
        float(bound),
        moved,
        weights,
        shrinks,
    )
    return moved, weights, shrinks


@kernel
def _frank_wolfe_step(
    counter: Any,
    grain: int,
    indptr: Any,
    items: Any,
    targets: Any,
    fit: Any,
    direction: Any,
    gain: float,
    decay: float,
    bound: float,
    moved: Any,
    weights: Any,
    shrinks: Any,
) -> None:
    n = len(weights)
    first = claim(counter, grain)
    while first < n:
        for i in range(first, min(first + grain, n)):
            square, along = 0.0, 0.0
            for e in range(indptr[i], indptr[i + 1]):
                away = fit[e] - targets[e]
                square += away * away
                along += away * direction[items[e]]
            if square > bound * bound:
                along *= bound / np.sqrt(square)
            w = -gain * along
            square = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                value = decay * fit[e] + w * direction[items[e]]
                moved[e] = value
                square += value * value
            shrink = 1.0
            if square > bound * bound:
                shrink = bound / np.sqrt(square)
                for e in range(indptr[i], indptr[i + 1]):
                    moved[e] *= shrink
            weights[i] = w
            shrinks[i] = shrink
        first = claim(counter, grain)
