"""Noisy means, drawn together as far as their noise alone would explain how they differ.

**Privacy.** Sums and counts were released before, the variance of their noise follows from settings: post-processing.
"""

from __future__ import annotations

import numpy as np

from discreet.types import Floats

__all__ = ["shrunken_means"]


# Differences count as real beyond so many standard errors of what noise alone would show.
_MARGIN = 2.0
# Variance of a squared deviation over the square of its mean: 5 for Laplace noise, 2 for normal noise.
_OF_SQUARES = 5.0


def shrunken_means(sums: Floats, counts: Floats, variance: float) -> Floats:
    """Means of a table of prototypes x items, each drawn to its row's mean and that to the mean of all.

    Parameters
    ----------
    sums, counts
        Noisy sums, and how many stand behind each of them (at least 1).
    variance
        Of the noise in every sum.
    """
    if sums.size == 0 or variance == 0.0:
        return sums / counts
    counts = np.broadcast_to(counts, sums.shape)
    in_row = counts.sum(axis=1, keepdims=True)
    rows = sums.sum(axis=1, keepdims=True) / in_row
    centre = np.full_like(rows, sums.sum() / counts.sum())
    rows = _drawn(rows, centre, sums.shape[1] * variance / in_row**2, margin=0.0)
    return _drawn(sums / counts, rows, variance / counts**2, margin=_MARGIN)


def _drawn(means: Floats, centres: Floats, noise: Floats, margin: float) -> Floats:
    """Keep the part of each deviation that one spread, common to all, explains beside the noise."""
    trust = (noise.min() / noise) ** 2
    trust = trust / trust.sum()
    error = np.sqrt(_OF_SQUARES * np.square(trust * noise).sum())
    spread = max(0.0, float((trust * ((means - centres) ** 2 - noise)).sum() - margin * error))
    drawn: Floats = centres + spread / (spread + noise) * (means - centres)
    return drawn
