"""The entries with the lowest numbers of every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.checks import check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Array, Indices

__all__ = ["lowest_entries"]


def lowest_entries(indptr: Indices, numbers: Array, most: int) -> NDArray[np.bool_]:
    """Which entries are among the ``most`` lowest of their row; of equal ones the first. NaN counts as highest."""
    check_shapes(numbers=(numbers, (int(indptr[-1]),)))
    kept = np.ones(len(numbers), dtype=np.bool_)
    values = np.nan_to_num(
        np.ascontiguousarray(numbers, np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf
    )
    longest = int(np.diff(indptr).max(initial=0))
    share(
        _lowest_entries,
        len(indptr) - 1,
        8.0 * len(numbers),
        np.ascontiguousarray(indptr, np.int64),
        values,
        int(most),
        longest,
        kept,
    )
    return kept


@kernel
def _lowest_entries(
    counter: Any, grain: int, indptr: Any, values: Any, most: int, longest: int, kept: Any
) -> None:
    n = len(indptr) - 1
    room = np.empty(longest, np.float64)
    first = claim(counter, grain)
    while first < n:
        for i in range(first, min(first + grain, n)):
            start, stop = indptr[i], indptr[i + 1]
            length = stop - start
            if length <= most:
                continue
            for e in range(length):
                room[e] = values[start + e]
            ordered = np.sort(room[:length])
            limit = ordered[most - 1]
            ties = most
            for e in range(most):
                if ordered[e] < limit:
                    ties -= 1
            for e in range(start, stop):
                if values[e] < limit:
                    continue
                if values[e] == limit and ties > 0:
                    ties -= 1
                else:
                    kept[e] = False
        first = claim(counter, grain)
