"""Non-negative ridge regression of many rows on the same few factors: users given items, or items given users."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Floats

__all__ = ["solve_nonnegative"]

Ints = npt.NDArray[Any]

_SWEEPS = 200
_TOLERANCE = 1e-5


def solve_nonnegative(
    indptr: Ints,
    columns: Ints,
    values: Floats,
    factors: Floats,
    penalty: Floats,
    start: Floats | None = None,
) -> Floats:
    """For each row the u >= 0 that minimises sum_j (x_j - u . v_j)^2 + penalty |u|^2 over the row's entries.

    Parameters
    ----------
    indptr, columns, values
        The rows, compressed.
    factors
        v_j, one for each column.
    penalty
        One for each row.
    start
        Where to begin, one row each; zeros where left out. It saves time and changes nothing else.

    Notes
    -----
    Rows that have most of the columns take the moment of all columns less that of the few they lack. Each row is
    computed from its own entries alone.
    """
    rows = len(indptr) - 1
    rank = factors.shape[1]
    moment = np.ascontiguousarray(factors.copy().T @ factors)  # not of itself: that would round otherwise
    out = np.zeros((rows, rank)) if start is None else np.array(start, dtype=np.float64)
    work = float(len(values)) * rank * rank
    share(
        _solve_rows, rows, work, np.ascontiguousarray(indptr, dtype=np.int64),
        np.ascontiguousarray(columns, dtype=np.int64), np.ascontiguousarray(values, dtype=np.float64),
        np.ascontiguousarray(factors), moment, np.ascontiguousarray(penalty, dtype=np.float64), out,
    )  # fmt: skip
    return out


@kernel
def _solve_rows(
    counter: Any, grain: int, indptr: Any, columns: Any, values: Any, factors: Any, moment: Any, penalty: Any,
    out: Any,
) -> None:  # fmt: skip
    rows, rank = out.shape
    total = len(factors)
    gram = np.empty((rank, rank))
    right = np.empty(rank)
    present = np.zeros(total, np.bool_)
    first = claim(counter, grain)
    while first < rows:
        for row in range(first, min(first + grain, rows)):
            begin, end = indptr[row], indptr[row + 1]
            right[:] = 0.0
            for entry in range(begin, end):
                j = columns[entry]
                for a in range(rank):
                    right[a] += values[entry] * factors[j, a]
            if 2 * (end - begin) <= total:
                gram[:] = 0.0
                for entry in range(begin, end):
                    _add_outer(gram, factors, columns[entry], 1.0, rank)
            else:
                gram[:] = moment
                if end - begin < total:
                    present[:] = False
                    for entry in range(begin, end):
                        present[columns[entry]] = True
                    for j in range(total):
                        if not present[j]:
                            _add_outer(gram, factors, j, -1.0, rank)
            _mirror(gram, rank)
            _descend(gram, right, penalty[row], out[row], rank)
        first = claim(counter, grain)


@kernel
def _add_outer(gram: Any, factors: Any, j: int, sign: float, rank: int) -> None:
    """The lower half; it is mirrored when all are added."""
    for a in range(rank):
        left = sign * factors[j, a]
        for b in range(a + 1):
            gram[a, b] += left * factors[j, b]


@kernel
def _mirror(gram: Any, rank: int) -> None:
    for a in range(rank):
        for b in range(a):
            gram[b, a] = gram[a, b]


@kernel
def _descend(gram: Any, right: Any, penalty: float, out: Any, rank: int) -> None:
    """Coordinate descent; what coordinate a leaves unexplained is kept up to date in `right`."""
    for a in range(rank):
        if out[a] != 0.0:
            for b in range(rank):
                right[b] -= out[a] * gram[b, a]
    for _ in range(_SWEEPS):
        largest, moved = 0.0, 0.0
        for a in range(rank):
            curvature = gram[a, a] + penalty
            new = max(0.0, out[a] + (right[a] - penalty * out[a]) / curvature)
            step = new - out[a]
            if step != 0.0:
                for b in range(rank):
                    right[b] -= step * gram[b, a]
                out[a] = new
            moved = max(moved, abs(step))
            largest = max(largest, new)
        if moved <= _TOLERANCE * largest:
            break
