"""Rows one by one: a small matrix applied to each, and their lengths; nothing depends on a row's neighbours.

A matrix product by BLAS may round a row differently when there is one row more, and so does ``np.einsum`` a long one;
on the private side of a release that would let one user move everybody else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.compile import exact_kernel, kernel
from discreet.kernels.threads import claim, share
from discreet.types import Array, Floats

__all__ = ["square_norms", "transform_rows"]


def transform_rows(rows: Array, matrix: Array) -> Floats:
    """``rows @ matrix.T`` in float64 (n x d, and width x d), each sum in the order of the columns."""
    check_shapes(matrix=(matrix, (len(matrix), rows.shape[1])))
    out = np.zeros((len(rows), len(matrix)))
    share(
        _transform_rows,
        len(rows),
        float(rows.size) * len(matrix),
        np.ascontiguousarray(rows, np.float64),
        np.ascontiguousarray(matrix.T, np.float64),
        out,
    )
    return out


def square_norms(rows: Array) -> Floats:
    """Squared length of every row in float64, summed in the same order whatever stands beside it."""
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
def _transform_rows(counter: Any, grain: int, rows: Any, columns: Any, out: Any) -> None:
    first = claim(counter, grain)
    while first < len(out):
        for i in range(first, min(first + grain, len(out))):
            total = out[i]
            for c in range(rows.shape[1]):
                value, column = rows[i, c], columns[c]
                for k in range(len(total)):
                    total[k] += value * column[k]
        first = claim(counter, grain)
