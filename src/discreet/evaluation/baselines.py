"""Baselines without a model, to be printed beside every result.

A user's own mean never leaves that user and is free under any privacy budget. The global mean and
popularity are taken here from the histories as they are, without noise: for evaluation only,
not for release.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.model import Histories
from discreet.types import Floats

__all__ = ["global_mean", "popularity_ranking", "rank_by_count", "user_means"]


def global_mean(histories: Histories) -> float:
    """Mean of all ratings."""
    return float(np.mean(histories.values))


def user_means(histories: Histories, fallback: float) -> Floats:
    """Each user's own mean rating; ``fallback`` for a user without a history."""
    counts = np.diff(histories.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(rows, weights=histories.values, minlength=len(counts))
    return np.where(counts > 0, sums / np.maximum(counts, 1), fallback)


def popularity_ranking(counted: Histories, queries: Histories, n_items: int, k: int) -> npt.NDArray[Any]:
    """For each query the ``k`` items most often chosen in ``counted`` that the query does not have."""
    return rank_by_count(np.bincount(counted.items, minlength=n_items).astype(np.float64), queries, k)


def rank_by_count(counts: Floats, queries: Histories, k: int) -> npt.NDArray[Any]:
    """For each query the ``k`` items that were counted most often and that the query does not have."""
    n_items = len(counts)
    users = len(queries.indptr) - 1
    ranking, _ = kernels.top_n(
        np.zeros((users, 1)),
        np.zeros((n_items, 1)),
        counts,
        min(k, n_items),
        exclude_indptr=queries.indptr,
        exclude_items=queries.items,
    )
    return ranking
