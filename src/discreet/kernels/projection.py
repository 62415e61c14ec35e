"""Sparse rows of integers times a matrix of integers, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.types import Indices, Ints

__all__ = ["project_rows"]


def project_rows(indptr: Indices, items: Indices, values: Indices, matrix: Indices) -> Ints:
    """``rows @ matrix``, rows sparse; sums must fit in int64."""
    check_rows(indptr, items, len(matrix))
    check_shapes(values=(values, items.shape))
    out = np.zeros((len(indptr) - 1, matrix.shape[1]), dtype=np.int64)
    _project_rows(*(np.ascontiguousarray(part, np.int64) for part in (indptr, items, values, matrix)), out)
    return out


@kernel
def _project_rows(indptr: Any, items: Any, values: Any, matrix: Any, out: Any) -> None:
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            for column in range(matrix.shape[1]):
                out[row, column] += values[entry] * matrix[items[entry], column]
