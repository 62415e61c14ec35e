"""What must hold before compiled code, which checks nothing, may touch the arrays.

A wrong index would read or write foreign memory, so these checks run on every call; they cost a few milliseconds for
ten million entries. They are for programming errors, hence plain ValueError and IndexError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.types import Indices

__all__ = ["check_ascending", "check_index", "check_rows", "check_shapes", "check_starts"]


def check_rows(indptr: Indices, index: Indices, bound: int) -> None:
    """Refuse anything but compressed sparse rows over ``range(bound)``."""
    check_starts(indptr, len(index))
    check_index(index, bound)


def check_starts(indptr: Indices, entries: int) -> None:
    """Refuse starts of rows that do not rise from 0 to the number of entries."""
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != entries or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"indptr must rise from 0 to the number of entries, {entries}")


def check_index(index: Indices, bound: int) -> None:
    """Refuse an index outside ``range(bound)``."""
    if len(index) and (index.min() < 0 or index.max() >= bound):
        raise IndexError(f"an index is outside 0..{bound - 1}")


def check_ascending(indptr: Indices, index: Indices) -> None:
    """Refuse rows whose indices do not rise."""
    rising = index[1:] > index[:-1]
    starts = indptr[1:-1]
    rising[starts[(starts > 0) & (starts < len(index))].astype(np.int64) - 1] = True
    if not rising.all():
        raise ValueError("the indices of a row must be ascending")


def check_shapes(**pairs: tuple[NDArray[Any] | None, tuple[int, ...]]) -> None:
    """Refuse a given array whose shape is not the one beside it."""
    for name, (array, shape) in pairs.items():
        if array is not None and array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape} where {shape} is needed")
