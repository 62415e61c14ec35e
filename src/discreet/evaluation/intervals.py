"""95 % intervals over people: each person is left out once, with all of their rows (jackknife).

What is measured moves a little each time; from these moves follows its standard error, and 1.96 of them to either side
are the interval. For a mean over people that is the usual standard error. One person's rows are not independent of each
other, so people are left out and not rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.types import Bools, Floats

__all__ = ["Measured", "covered", "mean_of", "pooled"]

_DEVIATIONS = 1.96


@dataclass(frozen=True)
class Measured:
    """A number with its interval; NaN where nothing could be measured."""

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


def mean_of(values: Floats, most: float = 1.0) -> Measured:
    """Mean over people; NaN is who has no such number."""
    told = values[~np.isnan(values)]
    if not len(told):
        return Measured(math.nan, math.nan, math.nan)
    without = (told.sum() - told) / (len(told) - 1) if len(told) > 1 else told[:0]
    return _measured(float(told.mean()), without, most)


def pooled(sums: Floats, sizes: Floats, *, root: bool = False) -> Measured:
    """Mean over the rows of all people, or its square root; ``sums`` and ``sizes`` are of each person's rows."""
    if not sizes.any():
        return Measured(math.nan, math.nan, math.nan)
    here = sizes > 0
    sums, sizes = sums[here], sizes[here]
    shape = np.sqrt if root else np.asarray
    left = np.maximum(sums.sum() - sums, 0.0)
    without = shape(left / (sizes.sum() - sizes)) if len(sums) > 1 else sums[:0]
    return _measured(float(shape(sums.sum() / sizes.sum())), without, math.inf)


def covered(shown: Bools, alone: Floats) -> Measured:
    """Share of items that are in somebody's list; ``alone``: how many items are in this person's list only."""
    if not len(shown) or not len(alone):
        return Measured(math.nan, math.nan, math.nan)
    without = (
        -alone / len(shown) if len(alone) > 1 else alone[:0]
    )  # less than the share itself; only moves count
    return _measured(float(shown.mean()), without, 1.0)


def _measured(value: float, without: Floats, most: float) -> Measured:
    """With its interval, cut off at 0 and at ``most``; unknown where one person is all there is."""
    people = len(without)
    if people == 0:
        return Measured(value, math.nan, math.nan)
    error = math.sqrt((people - 1) / people * float(np.square(without - without.mean()).sum()))
    reach = _DEVIATIONS * error
    return Measured(value, max(value - reach, 0.0), min(value + reach, most))
