"""Noisy item weights, gathered over the rounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.kernels import one_blas_thread
from discreet.types import Floats

__all__ = ["ItemWeights"]

# Sizes that an item's weight may have: none, and so many from a hundredth of the mean up to the largest seen.
_SIZES = 48
_SMALLEST = 0.01
_STEPS = 60
# Of a large catalogue: as many of the largest items as of the others to learn from.
_ENOUGH = 4_000
# Share of the mean weight that every item is taken to have at least.
_LEAST = 0.002
_LEAST_LIKELY = 1e-300
# A power of two changes no digit, and keeps products of small numbers off those that take processors long.
_RAISED = 2.0**900


@dataclass(frozen=True)
class ItemWeights:
    """How much weight each item's users have together, in the units of the first release.

    Parameters
    ----------
    estimate, variance
        Best unbiased estimate so far and its noise variance, one per item. Public: both come from releases.
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

    @cached_property
    def _expected(self) -> Floats:
        """Expected weight of each item, given what was released and how such weights are distributed."""
        sizes, width, shares = self._sizes
        joint = _likelihoods(self.estimate, self.variance, sizes, width) * shares
        means = sizes + width / (self.variance[:, None] + width) * (self.estimate[:, None] - sizes)
        expected: Floats = (joint * np.maximum(means, 0.0)).sum(axis=1) / joint.sum(axis=1)
        return expected

    @property
    def _sizes(self) -> tuple[Floats, Floats, Floats]:
        """Sizes that weights have, how far they scatter around each, and how many there are of each.

        No weight is negative, most are small and a few are large; how many of which size is estimated from all items
        together by maximum likelihood (a mixture over a fixed grid of sizes, by EM). An item that nobody takes has a
        noisy weight above zero as often as below: beside thousands of others like it, it is taken for what it is.
        """
        mean = self.total / len(self.estimate)
        largest = max(float(self.estimate.max()), 2.0 * mean)
        sizes = np.concatenate([[0.0], np.geomspace(_SMALLEST * mean, largest, _SIZES - 1)])
        looked_at, counts = _sample(self.estimate)
        estimate, variance = self.estimate[looked_at], self.variance[looked_at]
        width = _widths(sizes)
        likely = _likelihoods(estimate, variance, sizes, width)
        shares = np.full(len(sizes), 1.0 / len(sizes))
        for _ in range(_STEPS):
            raised = shares * _RAISED
            shares = shares * ((counts * _RAISED / (likely @ raised)) @ likely) / counts.sum()
        return sizes, width, shares

    def positive(self) -> Floats:
        """The expected weight, a little above nothing where the noise has drowned it."""
        with one_blas_thread():  # so that the number of threads changes no bit
            return np.maximum(self._expected, _LEAST * self.total / len(self.estimate))

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


def _sample(estimate: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Items to learn from, and how many each stands for: all of the large ones, and some of the many others."""
    if len(estimate) <= 2 * _ENOUGH:
        return np.arange(len(estimate)), np.ones(len(estimate))
    order = np.argsort(-estimate, kind="stable")
    stride = -(-(len(estimate) - _ENOUGH) // _ENOUGH)
    some = order[_ENOUGH::stride]
    stand = np.full(len(some), (len(estimate) - _ENOUGH) / len(some))
    return np.concatenate([order[:_ENOUGH], some]), np.concatenate([np.ones(_ENOUGH), stand])


def _likelihoods(values: Floats, variance: Floats, sizes: Floats, width: Floats) -> Floats:
    """values x sizes: likelihood of each size relative to a value's likeliest, not below 1e-300."""
    spread = variance[:, None] + width
    away = -0.5 * np.square(values[:, None] - sizes) / spread
    likely: Floats = np.exp(away - away.max(axis=1, keepdims=True)) / np.sqrt(spread)
    likely /= likely.max(axis=1, keepdims=True)
    return np.maximum(likely, _LEAST_LIKELY, out=likely)


def _widths(sizes: Floats) -> Floats:
    """Variance of the weights that a size stands for: they scatter around it as far as half of the way to the next."""
    width: Floats = np.square(0.5 * np.diff(sizes, append=sizes[-1] ** 2 / sizes[-2]))
    width[0] = 0.0
    return width
