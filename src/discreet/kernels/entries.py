"""Passes over the entries of sparse rows: what NumPy does in several, on one core, with an array for each.

A row's numbers depend on that row alone and are added in an order that its length decides: on the private side of a
release nothing of one user may move another's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.checks import check_index, check_rows, check_shapes, check_starts
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import AnyArray, Array, Floats, Indices, Shorts

__all__ = ["above_offsets", "row_squares", "row_sums", "truncated"]

CHUNK = 8192
"""Entries a thread takes at a time where rows do not matter."""


def above_offsets(
    items: Indices,
    values: Array,
    offsets: Array,
    centre: float = 0.0,
    kind: type[np.floating] = np.float64,
) -> Array:
    """``(values - centre) - offsets[items]``, in double precision and rounded to ``kind`` at the end."""
    check_index(items, len(offsets))
    check_shapes(values=(values, items.shape))
    out: Array = np.empty(len(items), kind)
    share(
        _above_offsets,
        -(-len(items) // CHUNK),
        float(len(items)),
        np.ascontiguousarray(items, np.int32),
        # float32 is widened one by one: a copy in float64 takes longer than the rest.
        np.ascontiguousarray(values, np.float32 if values.dtype == np.float32 else np.float64),
        np.ascontiguousarray(offsets, np.float64),
        float(centre),
        out,
    )
    return out


def row_sums(indptr: Indices, values: Array) -> Floats:
    """Sum of the values of each row, in double precision."""
    check_starts(indptr, len(values))
    out = np.empty(len(indptr) - 1)
    share(
        _row_sums,
        len(out),
        float(len(values)),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(values, np.float64),
        out,
    )
    return out


def row_squares(
    indptr: Indices, items: Indices, weights: Array | None = None, values: Array | Shorts | None = None
) -> Floats:
    """Sum over each row's entries of ``(weights[item] * value) ** 2``; what is left out counts as 1.

    Parameters
    ----------
    indptr, items
        Compressed sparse rows.
    weights
        One for each item.
    values
        One for each entry: floats, or int16.
    """
    n_items = 2**31 - 1 if weights is None else len(weights)
    check_rows(indptr, items, n_items)
    entries: AnyArray = np.zeros(0)
    if values is not None:
        check_shapes(values=(values, items.shape))
        entries = np.ascontiguousarray(values, np.int16 if values.dtype == np.int16 else np.float64)
    out = np.empty(len(indptr) - 1)
    share(
        _row_squares,
        len(out),
        float(len(items)),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.zeros(0) if weights is None else np.ascontiguousarray(weights, np.float64),
        entries,
        weights is not None,
        values is not None,
        out,
    )
    return out


def truncated(indptr: Indices, values: Array, scales: Array) -> Shorts:
    """``values * scales[row]`` truncated toward zero, which must fit an int16."""
    check_starts(indptr, len(values))
    check_shapes(scales=(scales, (len(indptr) - 1,)))
    out: NDArray[np.int16] = np.empty(len(values), np.int16)
    share(
        _truncated,
        len(indptr) - 1,
        float(len(values)),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(values, np.float64),
        np.ascontiguousarray(scales, np.float64),
        out,
    )
    return out


@kernel
def _above_offsets(
    counter: Any, grain: int, items: Any, values: Any, offsets: Any, centre: float, out: Any
) -> None:
    start = claim(counter, 1) * CHUNK
    while start < len(out):
        for k in range(start, min(start + CHUNK, len(out))):
            out[k] = (values[k] - centre) - offsets[items[k]]
        start = claim(counter, 1) * CHUNK


@kernel
def _row_sums(counter: Any, grain: int, indptr: Any, values: Any, out: Any) -> None:
    first = claim(counter, grain)
    while first < len(out):
        for i in range(first, min(first + grain, len(out))):
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                total += values[k]
            out[i] = total
        first = claim(counter, grain)


@kernel
def _row_squares(
    counter: Any,
    grain: int,
    indptr: Any,
    items: Any,
    weights: Any,
    values: Any,
    weighted: bool,
    valued: bool,
    out: Any,
) -> None:
    first = claim(counter, grain)
    while first < len(out):
        for i in range(first, min(first + grain, len(out))):
            total = 0.0
            if weighted and valued:
                for k in range(indptr[i], indptr[i + 1]):
                    value = weights[items[k]] * values[k]
                    total += value * value
            elif weighted:
                for k in range(indptr[i], indptr[i + 1]):
                    weight = weights[items[k]]
                    total += weight * weight
            elif valued:
                for k in range(indptr[i], indptr[i + 1]):
                    value = float(values[k])
                    total += value * value
            else:
                total = float(indptr[i + 1] - indptr[i])
            out[i] = total
        first = claim(counter, grain)


@kernel
def _truncated(counter: Any, grain: int, indptr: Any, values: Any, scales: Any, out: Any) -> None:
    n = len(scales)
    first = claim(counter, grain)
    while first < n:
        for i in range(first, min(first + grain, n)):
            scale = scales[i]
            for k in range(indptr[i], indptr[i + 1]):
                out[k] = np.int16(np.int32(values[k] * scale))
        first = claim(counter, grain)
