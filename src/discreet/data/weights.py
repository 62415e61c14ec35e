"""Weights and play counts: how often somebody met an item, as a click or as a grade between 0 and 1.

A pair of user and item whose weight is above 0 is a click. Graded, it is ``log(1 + min(w, cap)) / log(1 + cap)``:
1 from the public cap on, and each doubling counts about as much as the one before.

**Privacy.** However large a weight is, what is left of it lies between 0 and 1, or is 1. A weight acts on entries of
its own user, and every method bounds the user afterwards, as it does for ratings: the sensitivity of no release depends
on weights. See ``proofs/reading.md``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.data.arrays import Arrays

__all__ = ["grade", "weigh"]


def grade(weights: npt.ArrayLike, cap: float) -> npt.NDArray[np.float64]:
    """Grades of weights above 0; the same for a history that is handed to a model of graded weights.

    Examples
    --------
    >>> grade([1.0, 3.0, 15.0, 1e9], cap=15.0).tolist()
    [0.25, 0.5, 1.0, 1.0]
    """
    held = np.minimum(np.asarray(weights, dtype=np.float64), cap)
    grades: npt.NDArray[np.float64] = np.minimum(np.log1p(held) / np.log1p(cap), 1.0)
    return grades


def weigh(arrays: Arrays, cap: float | None) -> tuple[Arrays, int]:
    """Weights as clicks, or as grades where there is a cap; and how many pairs had none above 0 and are left out."""
    kept = arrays.values > 0.0
    indptr = np.concatenate([[0], np.cumsum(kept)])[arrays.indptr]
    values = arrays.values[kept]
    values = np.ones(len(values)) if cap is None else grade(values, cap)
    return Arrays(indptr, arrays.items[kept], values), int(len(kept) - len(values))
