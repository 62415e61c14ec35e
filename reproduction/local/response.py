"""Randomised response on a number in [-1, 1], so that the mean of the bits is a known multiple of it.

The binary mechanism of Nguyen et al., "Collecting and analyzing data from smart device users with local differential
privacy" (2016), as the matrix factorisation of Shin et al. uses it (``proofs/descent.md``). Coins and thresholds are
whole numbers, so that no probability is rounded unseen.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.errors import BudgetInvalid
from discreet.privacy.local.rotated import Coin
from discreet.types import Floats

__all__ = ["BITS", "LARGEST_EPSILON", "amplification", "respond", "thresholds"]

BITS = 53
"""A coin is a whole number below 2^53, compared with a whole threshold: no probability is rounded unseen."""
LARGEST_EPSILON = 28.0
"""Of one answer; beyond it the rarer answer has less than a handful of the 2^53 coins."""
_HALF = 1 << (BITS - 1)
# Far more than the rounding of exp and of the quotient, in coins: 2^53 times a few parts in 1e16.
_MARGIN = 16


def thresholds(values: Floats, epsilon: float) -> npt.NDArray[np.int64]:
    """How many of the 2^53 coins answer +1, for each value; values are clipped to [-1, 1], no number counts as 0."""
    inside = np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    return _HALF + np.rint(inside * _spread(epsilon)).astype(np.int64)


def respond(values: Floats, epsilon: float, coin: Coin) -> npt.NDArray[np.int8]:
    """One answer, +1 or -1, for each value: epsilon-LDP for whoever holds the value.

    Notes
    -----
    **Privacy.** Unit: one device. Relation: its value becomes any other. The chance of either answer is between
    1 / (1 + e^epsilon) and e^epsilon / (1 + e^epsilon) whatever the value. Which coordinate the value is of must have
    been chosen without looking at the data.
    """
    drawn = (coin.words(len(values)) >> np.uint64(64 - BITS)).astype(np.int64)
    said = drawn < thresholds(values, epsilon)
    return np.where(said, 1, -1).astype(np.int8)


def amplification(epsilon: float) -> float:
    """What an answer is multiplied with to be right on average: (e^epsilon + 1) / (e^epsilon - 1), as rounded."""
    return _HALF / _spread(epsilon)


def _spread(epsilon: float) -> int:
    """How far from an even coin the threshold goes, in coins."""
    if not 0.0 < epsilon <= LARGEST_EPSILON:
        raise BudgetInvalid(
            f"one answer may cost an epsilon above 0 and at most {LARGEST_EPSILON:g}, got {epsilon}"
        )
    rarer = math.ceil(2.0**BITS / (1.0 + math.exp(epsilon))) + _MARGIN
    if rarer >= _HALF:
        raise BudgetInvalid(
            f"an epsilon of {epsilon} for one answer leaves nothing to say; ask for fewer answers"
        )
    return _HALF - rarer
