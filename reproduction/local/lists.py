"""Similarity of two sets of recommendations (F-score), and the spread of errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.errors import SettingsInvalid
from discreet.evaluation.metrics import hits
from discreet.types import Floats

__all__ = ["error_distribution", "f_scores"]


def f_scores(ranking: npt.NDArray[np.integer], reference: npt.NDArray[np.integer]) -> Floats:
    """For each user the harmonic mean of precision and recall of a list against a reference list.

    Parameters
    ----------
    ranking, reference
        One row a user, item positions, -1 where fewer items were left. Items are not repeated within a row.

    Returns
    -------
    One number a user; NaN where both lists are empty, 0 where one is. For full lists of equal length it is the share
    of items in common.
    """
    if len(ranking) != len(reference):
        raise SettingsInvalid(f"{len(ranking)} lists cannot be compared with {len(reference)}")
    there = reference >= 0
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    found = hits(ranking, indptr, reference[there]).sum(axis=1)
    both = (ranking >= 0).sum(axis=1) + there.sum(axis=1)
    return np.asarray(np.divide(2.0 * found, both, out=np.full(len(ranking), np.nan), where=both > 0))


def error_distribution(predicted: Floats, actual: Floats, limits: Sequence[float]) -> Floats:
    """Share of ratings whose prediction is off by at most each of the limits."""
    errors = np.sort(np.abs(predicted - actual))
    if not len(errors):
        return np.full(len(limits), np.nan)
    return np.asarray(
        np.searchsorted(errors, np.asarray(limits, dtype=np.float64), side="right") / len(errors)
    )
