"""Best linear estimates of many noisy rows in coordinates where signal and noise are uncorrelated."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Floats

__all__ = ["shrink_rows"]


def shrink_rows(
    rows: Floats, told: Floats | None, values: Floats, square: Floats, variance: Floats
) -> Floats:
    """Shrink each entry, in place, toward what is told about it by its share of noise.

    An entry's gain is ``signal / (signal + noise)``, its signal ``square_j values_c``, its noise ``variance_j``; 0
    where both are 0.

    Parameters
    ----------
    rows
        items x order, C-contiguous; overwritten with ``told + gain (rows - told)``.
    told
        The same shape; ``None`` for zeros.
    values
        Variance of the signal in each direction.
    square, variance
        Of each item.

    Returns
    -------
    items
        Mean over the entries of ``(1 - gain) values``: what is left of the variance.
    """
    check_shapes(
        values=(values, rows.shape[1:]), square=(square, rows.shape[:1]), variance=(variance, rows.shape[:1])
    )
    if told is not None:
        check_shapes(told=(told, rows.shape))
    if rows.dtype != np.float64 or not rows.flags.c_contiguous:
        raise ValueError("rows are overwritten: they must be C-contiguous float64")
    left = np.empty(len(rows))
    share(
        _shrink_rows,
        len(rows),
        4.0 * rows.size,
        rows,
        np.zeros((0, 0)) if told is None else np.ascontiguousarray(told, np.float64),
        np.ascontiguousarray(values, np.float64),
        np.ascontiguousarray(square, np.float64),
        np.ascontiguousarray(variance, np.float64),
        left,
    )
    return left


@kernel
def _shrink_rows(
    counter: Any, grain: int, rows: Any, told: Any, values: Any, square: Any, variance: Any, left: Any
) -> None:
    n, d = rows.shape
    first = claim(counter, grain)
    while first < n:
        for j in range(first, min(first + grain, n)):
            remains = 0.0
            for c in range(d):
                signal = square[j] * values[c]
                total = signal + variance[j]
                gain = signal / total if total > 0.0 else 0.0
                guess = told[j, c] if len(told) > 0 else 0.0
                rows[j, c] = guess + gain * (rows[j, c] - guess)
                remains += (1.0 - gain) * values[c]
            left[j] = remains / d
        first = claim(counter, grain)
