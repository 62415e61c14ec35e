"""How many users fit on a device at once."""

from __future__ import annotations

import numpy as np

from discreet.privacy.gaussian.blocks import MOST_USERS
from discreet.types import Indices

__all__ = ["MOST_RATINGS", "PER_ENTRY", "PER_RATING", "cut"]

PER_RATING = 96
"""Bytes on the device for each rating: by user, by item, residual, target, and what sorting them takes."""
PER_ENTRY = 64
"""Bytes for each entry of a user's feature vector."""
MOST_RATINGS = 2**31 - 1
"""Positions of ratings are 32-bit numbers there."""


def cut(indptr: Indices, order: int, memory: float) -> list[slice]:
    """Blocks of users that fit into so many bytes: as few as there can be, each of at least one user.

    Parameters
    ----------
    indptr
        Where each user's ratings start.
    order
        Entries of a user's feature vector.
    memory
        Bytes.
    """
    n = len(indptr) - 1
    ends, blocks, first = np.asarray(indptr, np.int64), [], 0
    need = ends * float(PER_RATING) + np.arange(n + 1) * float(PER_ENTRY * order)
    while first < n:
        stop = int(np.searchsorted(need, need[first] + memory, side="right")) - 1
        stop = min(stop, int(np.searchsorted(ends, ends[first] + MOST_RATINGS, side="right")) - 1)
        stop = min(stop, first + MOST_USERS)
        blocks.append(slice(first, max(stop, first + 1)))
        first = blocks[-1].stop
    return blocks or [slice(0, 0)]
