"""Mean percentile rank of the test items (prototypes paper, equation 3; Hu et al. 2008)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.types import Floats

__all__ = ["percentile_ranks"]

Index = npt.NDArray[Any]

_BLOCK_ENTRIES = 1 << 22


def percentile_ranks(scores: Callable[[slice], Floats], indptr: Index, items: Index, n_items: int) -> Floats:
    """Percentile of each test item in its user's order of all items: 0 is first, 1 is last.

    Parameters
    ----------
    scores
        Gives the scores (users x items) of a slice of users, higher is better.
    indptr, items
        Test items of each user, compressed.
    n_items
        Length of the catalogue.

    Notes
    -----
    Items with the same score share the middle of their places, so that a constant score gives 0.5.
    """
    found = np.empty(len(items))
    step = max(1, _BLOCK_ENTRIES // max(n_items, 1))
    for start in range(0, len(indptr) - 1, step):
        end = min(start + step, len(indptr) - 1)
        entries = slice(int(indptr[start]), int(indptr[end]))
        if entries.start == entries.stop:
            continue
        block = scores(slice(start, end))
        for row in range(start, end):
            mine = slice(int(indptr[row]), int(indptr[row + 1]))
            if mine.start < mine.stop:
                found[mine] = _percentiles(block[row - start], items[mine])
    return found


def _percentiles(scores: Floats, items: Index) -> Floats:
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores[items], side="left")
    upto = np.searchsorted(ordered, scores[items], side="right")
    places: Floats = (len(scores) - (below + upto + 1) / 2.0) / max(len(scores) - 1, 1)
    return places
