"""The first, small release: how many users there are and how much they rate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid
from discreet.item_side.plan import Activity
from discreet.privacy.blocks import UserVector
from discreet.privacy.gate import Gate

__all__ = ["release_activity"]

_GRID = float(2**20)


def release_activity(gate: Gate, ratings: Ratings, mu: float) -> Activity:
    """Release the number of users, a histogram of log2(ratings per user) and, for ratings, two mean variances.

    Notes
    -----
    **Privacy**. Unit: one user. Adding a user adds 1 to the number, 1 to one bin, and to the two variance sums
    numbers v, w >= 0 with v + w <= 1 (both are parts of the mean squared distance from the middle of the range,
    in units of half the range squared). The L2 change is at most sqrt(1 + 1 + v^2 + w^2) <= sqrt(3); sqrt(2) for
    implicit feedback. Proof note: ``privacy/proofs/activity.md``.

    Raises
    ------
    BudgetInvalid
        When the noisy number of users does not stand out of its own noise: nothing could be learnt.
    """
    counts = np.diff(ratings.indptr)
    bins = int(np.log2(max(ratings.n_items, 1))) + 1
    values = np.zeros((ratings.n_users, 1 + bins + 2))
    rows = np.flatnonzero(counts)
    values[rows, 0] = 1.0
    values[rows, 1 + np.log2(counts[rows]).astype(np.int64)] = 1.0
    bound = np.sqrt(2.0)
    if ratings.rating_range is not None:
        values[rows, 1 + bins :] = _variances(ratings, rows)
        bound = np.sqrt(3.0)
    block = UserVector("activity", float(bound * _GRID), np.trunc(values * _GRID).astype(np.int32))
    released = gate.release("activity: users and ratings per user", [block], mu=mu)["activity"] / _GRID
    sigma = float(bound / mu)
    if not released[0] > 3.0 * sigma:
        raise BudgetInvalid(
            f"the budget ({gate.ledger.budget}) is too small to train on these ratings: the number of users does not "
            "stand out of the noise. Raise epsilon or bring more users; this run's first release has been spent"
        )
    return _read(released, sigma, ratings.n_items, ratings.rating_range)


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
    sigma: float,
    n_items: int,
    rating_range: tuple[float, float] | None,
) -> Activity:
    users, histogram = float(released[0]), released[1:-2]
    # Noise in a bin that stands for thousands of ratings would swamp the mean: believe what stands out.
    believed = np.where(histogram > 2.0 * sigma, histogram, 0.0)
    middle = np.minimum(1.5 * 2.0 ** np.arange(len(histogram)) - 0.5, n_items)
    mean = float((believed * middle).sum() / believed.sum()) if believed.any() else float(np.sqrt(n_items))
    per_user = min(max(mean, 1.0), float(n_items))
    if rating_range is None:
        return Activity(users, per_user, 1.0, 1.0)
    half = 0.5 * (rating_range[1] - rating_range[0])
    within, between = np.clip(released[-2:] / users, 0.01, 1.0) * half**2
    return Activity(users, per_user, float(within), float(between))
