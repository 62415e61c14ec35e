"""Likelihood ratios of randomised response, exactly."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np

from reproduction.local.response import BITS, thresholds

getcontext().prec = 60
HOSTILE = np.array([-1e300, -np.inf, -1.0, -0.3, 0.0, -0.0, np.nan, 1e-18, 0.7, 1.0, np.inf, 1e300])


def ratio(epsilon: float, values: np.ndarray) -> Decimal:
    """The largest likelihood ratio of any answer between any two values, exactly."""
    yes = [int(t) for t in thresholds(values, epsilon)]
    no = [(1 << BITS) - t for t in yes]
    return max(Decimal(max(side)) / Decimal(min(side)) for side in (yes, no))
