"""Johnson-Lindenstrauss: rows to a few dimensions by a public random matrix, and clipped again."""

from __future__ import annotations

import math

import numpy as np

from discreet import kernels
from discreet.privacy.bounded_points import HALF_SIDE, bounded_points
from discreet.privacy.bounded_rows import BoundedRows
from discreet.types import Floats, Ints

__all__ = ["project", "project_directions"]


_MATRIX_STEPS = 1024


def project(rows: BoundedRows, dimension: int, seed: tuple[int, ...]) -> Ints:
    """Project all rows to points of the cube, whose half side stands for ``bounds.radius``.

    Projection changes norms, so a bound on the rows says nothing about what comes out: it is clipped again. Sums are
    of integers and therefore exact.
    """
    step = rows.bounds.radius * _MATRIX_STEPS * math.sqrt(dimension)
    return bounded_points(_products(rows, dimension, seed) * (float(HALF_SIDE - 1) / step))


def project_directions(rows: BoundedRows, dimension: int, seed: tuple[int, ...]) -> Ints:
    """Project every row at length 1: which way a user's tastes go, however many ratings say so."""
    squares = np.bincount(rows.owners(), rows.values**2, minlength=rows.n_users)
    steps = np.sqrt(np.maximum(squares, 1.0)) * (_MATRIX_STEPS * math.sqrt(dimension))
    return bounded_points(_products(rows, dimension, seed) * (float(HALF_SIDE - 1) / steps)[:, None])


def _products(rows: BoundedRows, dimension: int, seed: tuple[int, ...]) -> Floats:
    matrix = np.rint(np.random.default_rng(seed).standard_normal((rows.n_items, dimension)) * _MATRIX_STEPS)
    pattern = rows.pattern
    products = kernels.project_rows(pattern.indptr, pattern.items, rows.values, matrix.astype(np.int64))
    return products.astype(np.float64)
