"""Metrics of predictions and lists, arrays in, numbers out; and baselines without a model, printed beside.

Rankings are arrays of item positions, one row a user and best first, with -1 where fewer items were left.
Targets are compressed rows of item positions. A user without targets says nothing: the number is NaN, and no mean
counts it.

A user's own mean never leaves that user and is free under any privacy budget. The global mean and popularity are taken
from the histories as they are, without noise: for evaluation only, not for release.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.model import Histories
from discreet.types import Bools, Floats

__all__ = [
    "among",
    "aucs",
    "global_mean",
    "hits",
    "list_metrics",
    "novelties",
    "popularity_ranking",
    "rank_by_count",
    "recall_at_k",
    "recalls",
    "rmse",
    "user_means",
]

Index = npt.NDArray[Any]


def rmse(predicted: Floats, actual: Floats) -> float:
    """Root of the mean squared error; NaN for no ratings."""
    return float(np.sqrt(np.mean(np.square(predicted - actual)))) if len(actual) else float("nan")


def hits(ranking: Index, target_indptr: Index, target_items: Index) -> Bools:
    """Whether each place of each user's ranking is one of that user's targets."""
    users = len(target_indptr) - 1
    if len(ranking) != users:
        raise ValueError(f"{len(ranking)} rankings for {users} users with targets")
    items = np.asarray(target_items, dtype=np.int64)
    width = 1 + max(int(items.max(initial=-1)), int(ranking.max(initial=-1)), 0)
    wanted = np.repeat(np.arange(users), np.diff(target_indptr)) * width + items
    keys = np.arange(users)[:, np.newaxis] * width + ranking
    return among(keys, wanted) & (ranking >= 0)


def among(keys: Index, wanted: Index) -> Bools:
    """Which keys are wanted; that these are in order mostly saves what `numpy.isin` spends on it."""
    if not len(wanted):
        return np.zeros(keys.shape, dtype=np.bool_)
    if (wanted[1:] < wanted[:-1]).any():
        wanted = np.sort(wanted)
    found: Bools = wanted[np.minimum(np.searchsorted(wanted, keys), len(wanted) - 1)] == keys
    return found


def list_metrics(ranking: Index, target_indptr: Index, target_items: Index, k: int) -> dict[str, Floats]:
    """For each user: recall, ndcg, precision, map, mrr and hit_rate of the first ``k`` places.

    The definitions are LensKit's, and RecTools' for users with at most ``k`` targets: a recall and an average
    precision of 1 can be reached by everybody, since they are divided by min(k, targets).

    Notes
    -----
    recall: |list and targets| / min(k, |targets|) (DPALS, the long version, section on metrics). precision: the same
    over k. ndcg: sum of 1 / log2(place + 1) over the places that hit, over the most that was possible. map: mean over
    min(k, |targets|) of the precision at each place that hits. mrr: one over the first place that hits. The ranking
    must already leave out the history.
    """
    counts = np.diff(target_indptr)
    found = hits(ranking[:, :k], target_indptr, target_items)
    width = found.shape[1]
    places = np.arange(1, width + 1)
    least = np.minimum(counts, k).astype(np.float64)
    least[counts == 0] = np.nan
    hit = found.sum(axis=1)
    precise = np.cumsum(found, axis=1) * found / places
    # Beyond the longest list and the most targets there is nothing to add up.
    worth = 1.0 / np.log2(np.arange(2, 2 + min(k, max(width, int(counts.max(initial=0))))))
    best = np.concatenate([[0.0], np.cumsum(worth)])[np.minimum(counts, len(worth))]
    best[counts == 0] = np.nan
    first = np.where(hit > 0, found.argmax(axis=1) + 1 if width else 1, np.inf)
    nobody = np.where(counts > 0, 0.0, np.nan)
    return {
        "recall": hit / least,
        "ndcg": found @ worth[:width] / best,
        "precision": hit / k + nobody,
        "map": precise.sum(axis=1) / least,
        "mrr": 1.0 / first + nobody,
        "hit_rate": (hit > 0) + nobody,
    }


def recalls(ranking: Index, target_indptr: Index, target_items: Index, k: int) -> Floats:
    """Recall@k of each user; of items that somebody dislikes it is better small."""
    counts = np.diff(target_indptr)
    found = hits(ranking[:, :k], target_indptr, target_items).sum(axis=1)
    shares: Floats = found / np.where(counts > 0, np.minimum(counts, k), np.nan)
    return shares


def recall_at_k(ranking: Index, target_indptr: Index, target_items: Index, k: int) -> float:
    """Mean recall@k of the users who have a target; NaN where nobody has."""
    shares = recalls(ranking, target_indptr, target_items, k)
    shares = shares[~np.isnan(shares)]
    return float(shares.mean()) if len(shares) else float("nan")


def novelties(ranking: Index, counts: Floats, people: int) -> Floats:
    """Mean of -log2(share of people who met the item) over each user's list; NaN for an empty one.

    RecTools' mean inverse user frequency: an item that nobody met counts as if one person had.
    """
    there = ranking >= 0
    surprise = -np.log2(np.maximum(counts, 1.0) / max(people, 1))
    length = there.sum(axis=1)
    total = np.where(there, surprise[np.maximum(ranking, 0)], 0.0).sum(axis=1) if len(counts) else length
    mean: Floats = total / np.where(length > 0, length, np.nan)
    return mean


def aucs(scores: Floats, indptr: Index, liked: Bools, disliked: Bools) -> Floats:
    """For each user, how often a liked item has a higher score than a disliked one; ties count a half.

    NaN for users who have not both. From ranks: the sum of the ranks of liked items (ties share the middle of theirs)
    says how many pairs are in order.
    """
    users = len(indptr) - 1
    kept = liked | disliked
    rows, values, good = np.repeat(np.arange(users), np.diff(indptr))[kept], scores[kept], liked[kept]
    order = np.lexsort((values, rows))
    rows, values, good = rows[order], values[order], good[order]
    fresh = np.ones(len(rows), dtype=np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    ties = np.cumsum(fresh) - 1
    sizes = np.bincount(ties)
    middle = (np.cumsum(sizes) - (sizes - 1) / 2.0)[ties]
    totals = np.bincount(rows, minlength=users)
    ranks = middle - (np.cumsum(totals) - totals)[rows]
    above = np.bincount(rows[good], minlength=users)
    pairs = above * (totals - above)
    ordered = np.bincount(rows[good], weights=ranks[good], minlength=users) - above * (above + 1) / 2.0
    shares: Floats = np.divide(ordered, pairs, out=np.full(users, np.nan), where=pairs > 0)
    return shares


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
