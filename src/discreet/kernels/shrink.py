"""Best linear estimates of many noisy rows in coordinates where signal and noise are uncorrelated."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.compile import exact_kernel
from discreet.kernels.products import add_product, aligned, clear
from discreet.kernels.registers import HEIGHT, padded
from discreet.kernels.threads import claim, share
from discreet.types import Array, Floats

__all__ = ["shrink_rows"]


def shrink_rows(
    rows: Floats,
    basis: Floats,
    values: Floats,
    square: Floats,
    variance: Floats,
    told: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Rows turned into a basis, shrunk there toward what is told about them by their share of noise, and turned back.

    In the basis an entry's gain is ``signal / (signal + noise)``, its signal ``square_j values_c``, its noise
    ``variance_j``; 0 where both are 0. The entry becomes ``told + gain (entry - told)``.

    Parameters
    ----------
    rows
        items x order.
    basis
        Orthonormal, directions in columns.
    values
        Variance of the signal in each direction.
    square, variance
        Of each item.
    told
        items x order, in the basis; ``None`` for zeros.

    Returns
    -------
    shrunk, left
        items x order; and for each item the mean over its entries of ``(1 - gain) values``: what is left of the
        variance.

    Notes
    -----
    Products are sums of fused operations in the order of the columns, as in `transform_rows`; all other operations are
    rounded one by one, as they are written.
    """
    n, d = rows.shape
    check_shapes(
        basis=(basis, (d, d)), values=(values, (d,)), square=(square, (n,)), variance=(variance, (n,))
    )
    if told is not None:
        check_shapes(told=(told, (n, d)))
    shrunk, left = np.empty((n, d)), np.empty(n)
    share(
        _shrink_rows,
        -(-n // HEIGHT),
        float(rows.size) * 2.0 * d / HEIGHT,
        np.ascontiguousarray(rows, np.float64),
        _columns(basis),
        _columns(basis.T),
        np.zeros((0, 0)) if told is None else np.ascontiguousarray(told, np.float64),
        np.ascontiguousarray(values, np.float64),
        np.ascontiguousarray(square, np.float64),
        np.ascontiguousarray(variance, np.float64),
        shrunk,
        left,
    )
    return shrunk, left


def _columns(matrix: Array) -> Floats:
    out = np.zeros((len(matrix), padded(len(matrix), np.float64)))
    out[:, : len(matrix)] = matrix
    return out


@exact_kernel
def _shrink_rows(
    counter: Any,
    grain: int,
    rows: Any,
    there: Any,
    back: Any,
    told: Any,
    values: Any,
    square: Any,
    variance: Any,
    shrunk: Any,
    left: Any,
) -> None:
    n, d = rows.shape
    turned = aligned(d, HEIGHT, there)
    block = aligned(HEIGHT, there.shape[1], there)
    lost, guess = np.empty(d), np.zeros(d)
    tile = claim(counter, grain)
    while tile * HEIGHT < n:
        for first in range(tile * HEIGHT, min((tile + grain) * HEIGHT, n), HEIGHT):
            few = min(HEIGHT, n - first)
            for r in range(few):
                for c in range(d):
                    turned[c, r] = rows[first + r, c]
            clear(block)
            add_product(block, 0, 0, there.shape[1], turned, 0, there, 0, d)
            for r in range(few):
                if len(told) > 0:
                    guess = told[first + r]
                left[first + r] = _shrink(
                    block[r, :d], guess, values, square[first + r], variance[first + r], lost
                )
                for c in range(d):
                    turned[c, r] = block[r, c]
            clear(block)
            add_product(block, 0, 0, there.shape[1], turned, 0, back, 0, d)
            for r in range(few):
                for k in range(d):
                    shrunk[first + r, k] = block[r, k]
        tile = claim(counter, grain)


@exact_kernel
def _shrink(row: Any, guess: Any, values: Any, square: float, variance: float, lost: Any) -> float:
    """One row in the basis, in place; gives what is left of its variance, added up in the order of the columns."""
    for c in range(len(row)):
        signal = square * values[c]
        total = signal + variance
        gain = signal / total if total > 0.0 else 0.0
        row[c] = guess[c] + gain * (row[c] - guess[c])
        lost[c] = (1.0 - gain) * values[c]
    remains = 0.0
    for c in range(len(row)):
        remains += lost[c]
    return remains / len(row)
