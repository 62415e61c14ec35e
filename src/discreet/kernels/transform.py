"""Rows one by one: a small matrix applied to each, and their lengths; nothing depends on a row's neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.compile import exact_kernel, kernel
from discreet.kernels.products import add_product, aligned, clear
from discreet.kernels.registers import HEIGHT, padded
from discreet.kernels.threads import claim, share
from discreet.types import Array, Floats

__all__ = ["square_norms", "transform_rows"]


def transform_rows(
    rows: Array, matrix: Array, scale: Array | None = None, plus: Array | None = None
) -> Floats:
    """``plus + scale * (rows @ matrix.T)`` in float64, each row summed in the same order whatever stands beside it.

    A matrix product by BLAS may round a row differently when there is one row more; on the private side of a
    release that would let one user move everybody else.

    Parameters
    ----------
    rows, matrix
        n x d, and width x d.
    scale
        One number for each row; 1 where left out.
    plus
        n x width; 0 where left out.

    Notes
    -----
    Each sum is one chain of fused operations in the order of the columns; scaling and adding are rounded one by one.
    """
    check_shapes(matrix=(matrix, (len(matrix), rows.shape[1])))
    if scale is not None:
        check_shapes(scale=(scale, (len(rows),)))
    if plus is not None:
        check_shapes(plus=(plus, (len(rows), len(matrix))))
    columns = np.zeros((rows.shape[1], padded(len(matrix), np.float64)))
    columns[:, : len(matrix)] = matrix.T
    out = np.empty((len(rows), len(matrix)))
    share(
        _transform_rows,
        -(-len(rows) // HEIGHT),
        float(rows.size) * len(matrix) / HEIGHT,
        np.ascontiguousarray(rows, np.float64),
        columns,
        np.zeros(0) if scale is None else np.ascontiguousarray(scale, np.float64),
        np.zeros((0, 0)) if plus is None else np.ascontiguousarray(plus, np.float64),
        out,
    )
    return out


def square_norms(rows: Array) -> Floats:
    """Squared length of every row in float64, summed in the same order whatever stands beside it.

    ``np.einsum`` rounds a long row differently when it is alone.
    """
    out = np.empty(len(rows))
    share(_square_norms, len(rows), float(rows.size), np.ascontiguousarray(rows, np.float64), out)
    return out


@kernel
def _square_norms(counter: Any, grain: int, rows: Any, out: Any) -> None:
    first = claim(counter, grain)
    while first < len(out):
        for i in range(first, min(first + grain, len(out))):
            total = 0.0
            for c in range(rows.shape[1]):
                total += rows[i, c] * rows[i, c]
            out[i] = total
        first = claim(counter, grain)


@exact_kernel
def _transform_rows(
    counter: Any, grain: int, rows: Any, columns: Any, scale: Any, plus: Any, out: Any
) -> None:
    """A tile of rows at a time; every number is one sum in the order of the columns, wherever its row stands."""
    n, width = out.shape
    d = rows.shape[1]
    turned = aligned(d, HEIGHT, columns)
    block = aligned(HEIGHT, columns.shape[1], columns)
    tile = claim(counter, grain)
    while tile * HEIGHT < n:
        for first in range(tile * HEIGHT, min((tile + grain) * HEIGHT, n), HEIGHT):
            few = min(HEIGHT, n - first)
            for r in range(few):
                for c in range(d):
                    turned[c, r] = rows[first + r, c]
            clear(block)
            add_product(block, 0, 0, columns.shape[1], turned, 0, columns, 0, d)
            for r in range(few):
                if len(scale) > 0:
                    for k in range(width):
                        block[r, k] *= scale[first + r]
                if len(plus) > 0:
                    for k in range(width):
                        block[r, k] += plus[first + r, k]
                for k in range(width):
                    out[first + r, k] = block[r, k]
        tile = claim(counter, grain)
