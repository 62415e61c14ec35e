"""The first, small release: how many users there are and how much they rate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.public.activity import ACTIVITY_GRID, activity_bound
from discreet.privacy.gaussian.blocks import UserVector

__all__ = ["activity_block"]


def activity_block(ratings: Ratings) -> UserVector:
    """The number of users, a histogram of log2(ratings per user) and, for ratings, two mean variances.

    Notes
    -----
    **Privacy**. Unit: one user. Adding a user adds 1 to the number, 1 to one bin, and to the two variance sums
    numbers v, w >= 0 with v + w <= 1 (both are parts of the mean squared distance from the middle of the range,
    in units of half the range squared). The L2 change is at most sqrt(1 + 1 + v^2 + w^2) <= sqrt(3); sqrt(2) for
    implicit feedback. Proof note: ``privacy/proofs/activity.md``.
    """
    counts = np.diff(ratings.indptr)
    bins = int(np.log2(max(ratings.n_items, 1))) + 1
    values = np.zeros((ratings.n_users, 1 + bins + 2))
    rows = np.flatnonzero(counts)
    values[rows, 0] = 1.0
    values[rows, 1 + np.log2(counts[rows]).astype(np.int64)] = 1.0
    if ratings.rating_range is not None:
        values[rows, 1 + bins :] = _variances(ratings, rows)
    bound = activity_bound(explicit=ratings.explicit)
    return UserVector("activity", bound * ACTIVITY_GRID, np.trunc(values * ACTIVITY_GRID).astype(np.int32))


def _variances(ratings: Ratings, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    assert ratings.rating_range is not None
    low, high = ratings.rating_range
    scaled = (ratings.values - 0.5 * (low + high)) / (0.5 * (high - low))
    starts, counts = ratings.indptr[:-1][rows], np.diff(ratings.indptr)[rows]
    means = np.add.reduceat(scaled, starts) / counts
    squares = np.add.reduceat(scaled**2, starts) / counts
    return np.clip(np.column_stack([squares - means**2, means**2]), 0.0, 1.0)
