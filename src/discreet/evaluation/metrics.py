"""Metrics of predictions and rankings: arrays in, one number out.

Rankings are arrays of item positions, one row a user and best first, with -1 where fewer items were left.
Targets are compressed rows of item positions. A user without targets says nothing and is left out of every
mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.types import Floats

__all__ = ["coverage", "gains", "hits", "mae", "ndcg_at_k", "recall_at_k", "recalls", "rmse"]

Index = npt.NDArray[Any]


def rmse(predicted: Floats, actual: Floats) -> float:
    """Root of the mean squared error; NaN for no ratings."""
    return float(np.sqrt(np.mean(np.square(predicted - actual)))) if len(actual) else float("nan")


def mae(predicted: Floats, actual: Floats) -> float:
    """Mean absolute error; NaN for no ratings."""
    return float(np.mean(np.abs(predicted - actual))) if len(actual) else float("nan")


def hits(ranking: Index, target_indptr: Index, target_items: Index) -> npt.NDArray[np.bool_]:
    """Whether each place of each user's ranking is one of that user's targets."""
    users = len(target_indptr) - 1
    if len(ranking) != users:
        raise ValueError(f"{len(ranking)} rankings for {users} users with targets")
    items = np.asarray(target_items, dtype=np.int64)
    width = 1 + max(int(items.max(initial=-1)), int(ranking.max(initial=-1)), 0)
    wanted = np.repeat(np.arange(users), np.diff(target_indptr)) * width + items
    keys = np.arange(users)[:, np.newaxis] * width + ranking
    return np.isin(keys, wanted) & (ranking >= 0)


def recall_at_k(ranking: Index, target_indptr: Index, target_items: Index, k: int) -> float:
    """Recall@k as DPALS defines it (the long version, section on metrics).

    For one user, |top k among the items not in the query, and in the target| / min(k, |target|); then the
    mean over users. The ranking must already leave out the query.
    """
    return _mean(recalls(ranking, target_indptr, target_items, k))


def recalls(ranking: Index, target_indptr: Index, target_items: Index, k: int) -> Floats:
    """Recall@k of each user who has a target."""
    counts = np.diff(target_indptr)
    found = hits(ranking[:, :k], target_indptr, target_items).sum(axis=1)
    shares: Floats = found / np.minimum(np.maximum(counts, 1), k)
    return shares[counts > 0]


def ndcg_at_k(ranking: Index, target_indptr: Index, target_items: Index, k: int) -> float:
    """Discounted gain (1 / log2(place + 1), every target counts 1) over the best that was possible."""
    return _mean(gains(ranking, target_indptr, target_items, k))


def gains(ranking: Index, target_indptr: Index, target_items: Index, k: int) -> Floats:
    """NDCG@k of each user who has a target."""
    counts = np.diff(target_indptr)
    k = min(k, max(ranking.shape[1], int(counts.max(initial=0))))  # beyond that there is nothing to add up
    worth = 1.0 / np.log2(np.arange(2, k + 2))
    found = hits(ranking[:, :k], target_indptr, target_items)
    best = np.concatenate([[0.0], np.cumsum(worth)])[np.minimum(counts, k)]
    gained = found @ worth[: found.shape[1]]
    shares: Floats = np.divide(gained, best, out=np.zeros(len(best)), where=best > 0)
    return shares[counts > 0]


def coverage(ranking: Index, n_items: int) -> float:
    """Share of the catalogue that appears in at least one user's ranking."""
    shown = np.unique(ranking)
    return float(np.count_nonzero(shown >= 0) / n_items)


def _mean(per_user: Floats) -> float:
    return float(per_user.mean()) if len(per_user) else float("nan")
