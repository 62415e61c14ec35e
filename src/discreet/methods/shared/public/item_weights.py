"""Noisy item weights, gathered over the rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.types import Floats

__all__ = ["ItemWeights"]


@dataclass(frozen=True)
class ItemWeights:
    """How much weight each item's users have together, in the units of the first release.

    Parameters
    ----------
    estimate, variance
        Best estimate so far and its noise variance, one per item. Public: both come from releases.
    """

    estimate: Floats
    variance: Floats

    @classmethod
    def first(cls, weight: Floats, sigma: Floats) -> ItemWeights:
        """From the first release."""
        return cls(weight, sigma**2)

    @property
    def total(self) -> float:
        """Sum over items, never below one noise standard deviation of that sum."""
        return max(float(self.estimate.sum()), float(np.sqrt(self.variance.sum())))

    def positive(self) -> Floats:
        """The estimate, floored where the noise has drowned it."""
        floor = np.maximum(0.02 * self.total / len(self.estimate), 0.5 * np.sqrt(self.variance))
        return np.maximum(self.estimate, floor)

    def scaled(self, weight: Floats) -> tuple[float, Floats]:
        """This round's weights predicted from all rounds: the ratio to the first release, and the weights."""
        ratio = max(float(weight.sum()) / self.total, 1e-9)
        return ratio, self.positive() * ratio

    def updated(self, weight: Floats, sigma: Floats) -> ItemWeights:
        """Fold in one more release of the same weights, which may be larger or smaller by one factor."""
        ratio, _ = self.scaled(weight)
        precision = 1.0 / self.variance + ratio**2 / sigma**2
        estimate = (self.estimate / self.variance + weight * ratio / sigma**2) / precision
        return ItemWeights(estimate, 1.0 / precision)
