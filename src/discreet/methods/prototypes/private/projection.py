"""Johnson-Lindenstrauss: rows to a few dimensions by a public random matrix, and clipped again."""

from __future__ import annotations

import math

import numpy as np

from discreet import kernels
from discreet.privacy.bounded_points import HALF_SIDE, bounded_points
from discreet.privacy.bounded_rows import BoundedRows
from discreet.types import Ints

__all__ = ["project"]


_MATRIX_STEPS = 1024


def project(rows: BoundedRows, dimension: int, seed: tuple[int, ...]) -> Ints:
    """Project all rows to points of the cube, whose half side stands for ``bounds.radius``.

    Projection changes norms, so a bound on the rows says nothing about what comes out: it is clipped again. Sums are
    of integers and therefore exact.
    """
    matrix = np.rint(np.random.default_rng(seed).standard_normal((rows.n_items, dimension)) * _MATRIX_STEPS)
    pattern = rows.pattern
    projected = kernels.project_rows(pattern.indptr, pattern.items, rows.values, matrix.astype(np.int64))
    step = rows.bounds.radius * _MATRIX_STEPS * math.sqrt(dimension)
    return bounded_points(projected.astype(np.float64) * (float(HALF_SIDE - 1) / step))
