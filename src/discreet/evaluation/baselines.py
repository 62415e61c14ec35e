"""Baselines without a model, to be printed beside every result.

A user's own mean never leaves that user and is free under any privacy budget. The global mean and
popularity are taken here from the histories as they are, without noise: for evaluation only,
not for release.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
    """For each query the ``k`` items that were counted most often and that the query does not have.

    Of the order by count, a list takes the places that the query leaves free. With the query's places ``p_0 < p_1 <
    ...``, the free place number ``j`` is ``j`` plus how many ``i`` there are with ``p_i - i <= j``.
    """
    n_items, users = len(counts), len(queries.indptr) - 1
    order = np.argsort(-counts, kind="stable").astype(np.int32)
    place = np.empty(n_items, dtype=np.int64)
    place[order] = np.arange(n_items)
    rows = np.repeat(np.arange(users), np.diff(queries.indptr))
    taken = np.sort(rows * n_items + place[queries.items]) - rows * n_items
    before = taken - (np.arange(len(rows)) - np.asarray(queries.indptr)[rows])
    width = min(k, n_items)
    early = before < width
    skipped = np.bincount(rows[early] * width + before[early], minlength=users * width)
    free = np.arange(width) + skipped.reshape(users, width).cumsum(axis=1)
    left = free < n_items
    ranking = np.full((users, width), -1, dtype=np.int32)
    ranking[left] = order[free[left]]
    return ranking
