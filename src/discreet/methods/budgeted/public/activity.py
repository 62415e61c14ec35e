"""What the first, small release says about the crowd. Public: sees the release only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.methods.budgeted.public.plan import Activity

__all__ = ["ACTIVITY_GRID", "activity_bound", "read_activity"]

ACTIVITY_GRID = float(2**20)
"""Grid steps in one unit of the release."""


def activity_bound(*, explicit: bool) -> float:
    """How far one user can move the release (L2): see `methods.budgeted.private.activity`."""
    return float(np.sqrt(3.0 if explicit else 2.0))


def read_activity(
    released: npt.NDArray[np.float64], mu: float, n_items: int, rating_range: tuple[float, float] | None
) -> Activity | None:
    """Number of users, ratings per user and variances; ``None`` where the users do not stand out of the noise.

    Parameters
    ----------
    released
        In grid steps, as it came out of the gate.
    mu
        What it cost.
    """
    released = released / ACTIVITY_GRID
    sigma = activity_bound(explicit=rating_range is not None) / mu
    users, histogram = float(released[0]), released[1:-2]
    if not users > 3.0 * sigma:
        return None
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
