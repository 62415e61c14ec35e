"""Johnson-Lindenstrauss: rows to a few dimensions by a public random matrix, and clipped again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.kernels.compile import kernel
from discreet.methods.prototypes.private.rows import Rows
from discreet.types import Ints

__all__ = ["HALF_SIDE", "project"]


HALF_SIDE = 1 << 15
"""Half a side of the cube that holds all projected rows, in its own steps."""

_MATRIX_STEPS = 1024


def project(rows: Rows, dimension: int, radius: float, seed: tuple[int, ...]) -> Ints:
    """Project all rows; every one ends within `HALF_SIDE` - 1 steps of the middle, which stand for `radius`.

    Projection changes norms, so a bound on the rows says nothing about what comes out: it is clipped again. Sums are
    of integers and therefore exact; what follows works on single numbers and one row.
    """
    matrix = np.rint(np.random.default_rng(seed).standard_normal((rows.n_items, dimension)) * _MATRIX_STEPS)
    projected = np.zeros((rows.n_users, dimension), dtype=np.int64)
    _multiply(rows.indptr, rows.items, rows.values, matrix.astype(np.int64), projected)
    bound = float(HALF_SIDE - 1)
    scaled = projected * (bound / (radius * _MATRIX_STEPS * math.sqrt(dimension)))
    squares = np.zeros(rows.n_users)
    for column in range(dimension):
        squares += scaled[:, column] ** 2
    # The factor is rounded down a little, so that the clipped norm cannot be rounded up past the bound.
    factor = np.minimum(1.0, bound * (1.0 - 1e-12) / np.maximum(np.sqrt(squares), 1.0))
    clipped: Ints = np.trunc(scaled * factor[:, None]).astype(np.int64)
    return clipped


@kernel
def _multiply(indptr: Any, items: Any, values: Any, matrix: Any, out: Any) -> None:
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            for column in range(matrix.shape[1]):
                out[row, column] += values[entry] * matrix[items[entry], column]
