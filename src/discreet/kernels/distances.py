"""Squared distances of integer points and sparse rows to a few centres, and projections of rows: exact, in any order.

Integers below 2^20 have products whose sums stay below 2^53, so double precision computes them without rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.types import Floats, Indices, Ints, Shorts

__all__ = ["capped_distances", "nearest_centres", "project_rows", "row_distances", "swap_losses"]

# Points at a time: their distances to all centres are held at once.
_BLOCK = 1 << 14


def capped_distances(points: Indices, centres: Indices, cap: int, steps: int) -> Shorts:
    """Squared distance of each point to each centre, in steps of ``cap / steps``; ``steps`` from `cap` on.

    `cap` times `steps` must fit in int64, and `steps` in int16.
    """
    out = np.empty((len(points), len(centres)), dtype=np.int16)
    for part, squares in _squares(points, centres):
        out[part] = _in_steps(squares.astype(np.int64), cap, steps)
    return out


def nearest_centres(points: Indices, centres: Indices) -> Ints:
    """The nearest centre of each point, the first of several."""
    _check_some(centres)
    out = np.zeros(len(points), dtype=np.int64)
    for part, squares in _squares(points, centres):
        out[part] = squares.argmin(axis=1)
    return out


def swap_losses(distances: Shorts, chosen: Indices) -> Ints:
    """Sum over rows of the least of the chosen columns after each swap: one leaves (row), one comes (column).

    With one column chosen, nothing is left but the one that comes.
    """
    _check_some(chosen)
    check_index(chosen, distances.shape[1])
    near = distances[:, chosen]
    owner = near.argmin(axis=1)
    first = near[np.arange(len(near)), owner]
    near[np.arange(len(near)), owner] = np.iinfo(np.int16).max
    second = near.min(axis=1)
    kept = np.minimum(distances, first[:, None])
    out = np.tile(kept.sum(axis=0, dtype=np.int64), (len(chosen), 1))
    for place in range(len(chosen)):
        left = owner == place
        fallen = np.minimum(distances[left], second[left, None])
        out[place] += fallen.sum(axis=0, dtype=np.int64) - kept[left].sum(axis=0, dtype=np.int64)
    return out


def row_distances(
    indptr: Indices, items: Indices, values: Indices, centres: Indices, cap: int, steps: int, *, whole: bool
) -> Ints:
    """Squared distance of each sparse row to its nearest centre, in steps of ``cap / steps``, `steps` from `cap` on.

    Over all columns, where an entry that a row has not counts as zero (`whole`), or over the row's own entries.
    """
    _check_some(centres)
    rows = _sparse(indptr, items, values, centres.shape[1])
    places, squares = np.asarray(centres, np.int64).T, np.square(rows.data)
    own = csr_array((squares, rows.indices, rows.indptr), shape=rows.shape).sum(axis=1)[:, None]
    present = csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    reach = np.square(places).sum(axis=0) if whole else present @ np.square(places)
    return _in_steps((own - 2 * (rows @ places) + reach).min(axis=1), cap, steps)


def project_rows(indptr: Indices, items: Indices, values: Indices, matrix: Indices) -> Ints:
    """``rows @ matrix``, rows sparse; sums must fit in int64."""
    out: Ints = _sparse(indptr, items, values, len(matrix)) @ np.asarray(matrix, np.int64)
    return out


def _squares(points: Indices, centres: Indices) -> Iterator[tuple[slice, Floats]]:
    """Squared distances of some of the points at a time."""
    check_shapes(centres=(centres, (len(centres), points.shape[1])))
    places = centres.astype(np.float64)
    norms = np.square(places).sum(axis=1)
    for start in range(0, len(points), _BLOCK):
        part = slice(start, start + _BLOCK)
        some = points[part].astype(np.float64)
        yield part, np.square(some).sum(axis=1)[:, None] - 2.0 * (some @ places.T) + norms


def _sparse(indptr: Indices, items: Indices, values: Indices, width: int) -> Any:
    check_rows(indptr, items, width)
    check_shapes(values=(values, items.shape))
    return csr_array((np.asarray(values, np.int64), items, indptr), shape=(len(indptr) - 1, width))


def _in_steps(squares: Ints, cap: int, steps: int) -> Ints:
    found: Ints = np.where(squares >= cap, steps, np.minimum(squares, cap) * steps // cap)
    return found


def _check_some(centres: Indices) -> None:
    if not len(centres):
        raise ValueError("there is no nearest of no centres")
