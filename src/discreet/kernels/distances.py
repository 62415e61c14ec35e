"""Squared distances of integer points and rows to a few centres, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.types import Indices, Ints, Shorts

__all__ = ["capped_distances", "nearest_centres", "row_distances", "swap_losses"]


def capped_distances(points: Indices, centres: Indices, cap: int, steps: int) -> Shorts:
    """Squared distance of each point to each centre, in steps of ``cap / steps``; ``steps`` from `cap` on.

    Squares must fit in int64; so must `cap` times `steps`, and `steps` in int16.
    """
    check_shapes(centres=(centres, (len(centres), points.shape[1])))
    out = np.empty((len(points), len(centres)), dtype=np.int16)
    _capped_distances(_whole(points), _whole(centres), int(cap), int(steps), out)
    return out


def nearest_centres(points: Indices, centres: Indices) -> Ints:
    """The nearest centre of each point, the first of several."""
    check_shapes(centres=(centres, (len(centres), points.shape[1])))
    _check_some(centres)
    out = np.zeros(len(points), dtype=np.int64)
    _nearest_centres(_whole(points), _whole(centres), out)
    return out


def swap_losses(distances: Shorts, chosen: Indices) -> Ints:
    """Sum over rows of the least of the chosen columns after each swap: one leaves (row), one comes (column).

    With one column chosen, nothing is left but the one that comes.
    """
    _check_some(chosen)
    check_index(chosen, distances.shape[1])
    out = np.zeros((len(chosen), distances.shape[1]), dtype=np.int64)
    most = np.iinfo(np.int16).max
    _swap_losses(np.ascontiguousarray(distances, np.int16), _whole(chosen), np.int64(most), out)
    return out


def row_distances(
    indptr: Indices, items: Indices, values: Indices, centres: Indices, cap: int, steps: int, *, whole: bool
) -> Ints:
    """Squared distance of each sparse row to its nearest centre, in steps of ``cap / steps``, `steps` from `cap` on.

    Over all columns, where an entry that a row has not counts as zero (`whole`), or over the row's own entries.
    """
    check_rows(indptr, items, centres.shape[1])
    check_shapes(values=(values, items.shape))
    _check_some(centres)
    out = np.empty(len(indptr) - 1, dtype=np.int64)
    _row_distances(
        _whole(indptr), _whole(items), _whole(values), _whole(centres), bool(whole), int(cap), int(steps), out
    )
    return out


def _check_some(centres: Indices) -> None:
    if not len(centres):
        raise ValueError("there is no nearest of no centres")


def _whole(array: Indices) -> Ints:
    return np.ascontiguousarray(array, np.int64)


@kernel
def _capped_distances(points: Any, centres: Any, cap: int, steps: int, out: Any) -> None:
    for i in range(len(points)):
        for j in range(len(centres)):
            square = 0
            for d in range(points.shape[1]):
                gap = points[i, d] - centres[j, d]
                square += gap * gap
            out[i, j] = steps if square >= cap else square * steps // cap


@kernel
def _nearest_centres(points: Any, centres: Any, out: Any) -> None:
    for i in range(len(points)):
        best: Any = np.int64(-1)
        for j in range(len(centres)):
            square = 0
            for d in range(points.shape[1]):
                gap = points[i, d] - centres[j, d]
                square += gap * gap
            if best < 0 or square < best:
                best = square
                out[i] = j


@kernel
def _swap_losses(distances: Any, chosen: Any, most: Any, out: Any) -> None:
    rows, columns = distances.shape
    shared = np.zeros(columns, np.int64)
    for i in range(rows):
        first, second, owner = most, most, 0
        for z in range(len(chosen)):
            distance: Any = np.int64(distances[i, chosen[z]])
            if z == 0 or distance < first:
                if z > 0:
                    second = first
                first, owner = distance, z
            elif distance < second:
                second = distance
        for j in range(columns):
            distance = np.int64(distances[i, j])
            kept: Any = min(distance, first)
            fallen: Any = min(distance, second)
            shared[j] += kept
            out[owner, j] += fallen - kept
    for z in range(len(chosen)):
        for j in range(columns):
            out[z, j] += shared[j]


@kernel
def _row_distances(
    indptr: Any, items: Any, values: Any, centres: Any, whole: bool, cap: int, steps: int, out: Any
) -> None:
    norms = (centres * centres).sum(axis=1)
    for i in range(len(out)):
        best = np.int64(-1)
        for z in range(len(centres)):
            square = norms[z] if whole else np.int64(0)
            for entry in range(indptr[i], indptr[i + 1]):
                at = centres[z, items[entry]]
                gap = values[entry] - at
                square += gap * gap
                if whole:
                    square -= at * at
            if best < 0 or square < best:
                best = square
        out[i] = steps if best >= cap else best * steps // cap
