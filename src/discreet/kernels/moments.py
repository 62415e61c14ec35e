"""Weighted second moments of many rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.compile import exact_kernel
from discreet.kernels.products import add_square, aligned
from discreet.kernels.registers import padded
from discreet.kernels.threads import claim, share
from discreet.types import Array, Floats

__all__ = ["part_size", "weighted_moment"]

PARTS = 64
"""Most sums that are taken apart and then added up."""
LEAST = 256
"""Fewest rows of such a sum."""
ROWS = 128
"""Rows scaled at a time, which stay in a near cache; their sum starts from zero and is added to the part's."""


def weighted_moment(rows: Array, weights: Array) -> Floats:
    """Sum over rows of ``weight row row^T`` in float64, weights not below zero.

    Rows are cut into parts by their number alone and the parts added up in order: the number of threads does not
    matter to the last bit.
    """
    n, d = rows.shape
    check_shapes(weights=(weights, (n,)))
    size = part_size(n)
    parts = np.zeros((-(-n // size), padded(d, np.float64), padded(d, np.float64)))
    share(
        _weighted_moment,
        len(parts),
        float(n) * d * d / 8,
        np.ascontiguousarray(rows, np.float64),
        np.sqrt(np.ascontiguousarray(weights, np.float64)),
        size,
        parts,
    )
    upper = np.triu(parts.sum(0)[:d, :d])
    total: Floats = upper + np.triu(upper, 1).T
    return total


def part_size(rows: int) -> int:
    """Rows of each part but the last."""
    return max(-(-rows // PARTS), LEAST)


@exact_kernel
def _weighted_moment(counter: Any, grain: int, rows: Any, roots: Any, size: int, parts: Any) -> None:
    n, d = rows.shape
    block = aligned(ROWS, parts.shape[1], roots)
    part = claim(counter, 1)
    while part < len(parts):
        end = min((part + 1) * size, n)
        for start in range(part * size, end, ROWS):
            stop = min(start + ROWS, end)
            for j in range(start, stop):
                for c in range(d):
                    block[j - start, c] = rows[j, c] * roots[j]
            add_square(parts[part], block, stop - start, d)
        part = claim(counter, 1)
