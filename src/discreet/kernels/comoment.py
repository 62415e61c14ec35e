"""Exact sum over users of ``y y^T`` for sparse integer rows y: items x items, without a users x items array."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.kernels.transpose import transpose
from discreet.types import Floats, Indices, Shorts

__all__ = ["co_moment"]


def co_moment(indptr: Indices, items: Indices, values: Shorts, n_items: int) -> Floats:
    """Sum over rows of ``y y^T``, where row i has ``values`` at its items (ascending) and zeros elsewhere.

    Products of two int16 are added in int64 and are exact whatever the order. Work: the sum of squared row lengths,
    halved by symmetry; each output row is one thread's own.
    """
    check_rows(indptr, items, n_items)
    check_shapes(values=(values, items.shape))
    by_item, _, places = transpose(indptr, items, n_items)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    ends = np.ascontiguousarray(indptr, np.int64)[1:][rows] if len(rows) else np.zeros(0, np.int64)
    out = np.zeros((n_items, n_items))
    share(
        _co_moment,
        n_items,
        float((np.diff(indptr).astype(np.float64) ** 2).sum() / 2),
        np.ascontiguousarray(by_item, np.int64),
        np.ascontiguousarray(places, np.int64),
        np.ascontiguousarray(ends, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(values, np.int16),
        out,
    )
    _mirror(out)
    return out


@kernel
def _co_moment(
    counter: Any, grain: int, by_item: Any, places: Any, ends: Any, items: Any, values: Any, out: Any
) -> None:
    m = len(by_item) - 1
    total = np.zeros(m, np.int64)
    first = claim(counter, grain)
    while first < m:
        for j in range(first, min(first + grain, m)):
            total[:] = 0
            for k in range(by_item[j], by_item[j + 1]):
                place = places[k]
                own = np.int64(values[place])
                for e in range(place, ends[place]):
                    total[items[e]] += own * values[e]
            for c in range(j, m):
                out[j, c] = total[c]
        first = claim(counter, grain)


@kernel
def _mirror(out: Any) -> None:
    for j in range(len(out)):
        for c in range(j + 1, len(out)):
            out[c, j] = out[j, c]
