"""Symmetric integer matrices from independent numbers for their upper triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Floats

__all__ = ["symmetric_integers"]


def symmetric_integers(values: Floats, sigma: Floats, order: int) -> Floats:
    """One symmetric matrix for each row of numbers: scaled by sigma, beside the diagonal by sigma/sqrt(2), rounded.

    Parameters
    ----------
    values
        Matrices x order (order + 1) / 2: each upper triangle row by row.
    sigma
        One scale for each matrix.
    order
        Rows of a matrix.
    """
    if values.shape != (len(sigma), order * (order + 1) // 2):
        raise ValueError(f"{values.shape} numbers are not {len(sigma)} triangles of order {order}")
    matrices = np.empty((len(sigma), order, order))
    share(_fill, len(matrices), float(values.size), matrices, values, sigma)
    return matrices


@kernel
def _fill(counter: Any, grain: int, out: Any, values: Any, sigma: Any) -> None:
    count, order, _ = out.shape
    half = np.sqrt(0.5)
    first = claim(counter, grain)
    while first < count:
        for j in range(first, min(first + grain, count)):
            k = 0
            for a in range(order):
                out[j, a, a] = np.rint(values[j, k] * sigma[j])
                k += 1
                for b in range(a + 1, order):
                    value = np.rint(values[j, k] * sigma[j] * half)
                    out[j, a, b] = value
                    out[j, b, a] = value
                    k += 1
        first = claim(counter, grain)
