"""The first, small release: how many users there are and how much they rate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.item_side.plan import Activity
from discreet.privacy.blocks import UserVector
from discreet.privacy.gate import Gate

__all__ = ["release_activity"]

_GRID = float(2**20)


def release_activity(gate: Gate, ratings: Ratings, mu: float) -> Activity:
    """Release a histogram of log2(ratings per user) and, for explicit feedback, two mean variances.

    Notes
    -----
    **Privacy**. Unit: one user. Adding a user adds 1 to one bin, and to the two variance sums numbers v, w >= 0
    with v + w <= 1 (both are parts of the mean squared distance from the middle of the range, in units of half
    the range squared). The L2 change is at most sqrt(1 + v^2 + w^2) <= sqrt(2); sqrt(1) for implicit feedback.
    """
    counts = np.diff(ratings.indptr)
    bins = int(np.log2(max(ratings.n_items, 1))) + 1
    values = np.zeros((ratings.n_users, bins + 2))
    rows = np.flatnonzero(counts)
    values[rows, np.log2(counts[rows]).astype(np.int64)] = 1.0
    unit = _GRID
    if ratings.rating_range is not None:
        values[rows, bins:] = _variances(ratings, rows)
        unit *= np.sqrt(2.0)
    block = UserVector("activity", float(unit), np.trunc(values * _GRID).astype(np.int32))
    released = gate.release("activity: users and ratings per user", [block], mu=mu)["activity"] / _GRID
    return _read(released, bins, unit / _GRID / mu, ratings.n_items, ratings.rating_range)


def _variances(ratings: Ratings, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    assert ratings.rating_range is not None
    low, high = ratings.rating_range
    scaled = (ratings.values - 0.5 * (low + high)) / (0.5 * (high - low))
    starts, counts = ratings.indptr[:-1][rows], np.diff(ratings.indptr)[rows]
    means = np.add.reduceat(scaled, starts) / counts
    squares = np.add.reduceat(scaled**2, starts) / counts
    return np.clip(np.column_stack([squares - means**2, means**2]), 0.0, 1.0)


def _read(
    released: npt.NDArray[np.float64],
    bins: int,
    sigma: float,
    n_items: int,
    rating_range: tuple[float, float] | None,
) -> Activity:
    histogram = np.maximum(released[:bins], 0.0)
    users = max(float(released[:bins].sum()), 2.0 * sigma)
    middle = np.minimum(1.5 * 2.0 ** np.arange(bins) - 0.5, n_items)
    mean = float((histogram * middle).sum() / max(float(histogram.sum()), 1e-9))
    per_user = min(max(mean, 1.0), float(n_items))
    if rating_range is None:
        return Activity(users, per_user, 1.0, 1.0)
    half = 0.5 * (rating_range[1] - rating_range[0])
    within, between = np.clip(released[bins:] / users, 0.01, 1.0) * half**2
    return Activity(users, per_user, float(within), float(between))
