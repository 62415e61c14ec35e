"""Noisy offsets of items, believed as far as their known noise allows. Public: post-processing.

As :func:`~discreet.methods.shared.public.shrinkage.regress_offsets`, which has the noise of a whole data set to deal
with. One silo's can be so large that what it leaves by chance would cost more than offsets are worth: here a spread,
or a trend, counts beyond two standard errors only.
"""

from __future__ import annotations

import numpy as np

from discreet.types import Floats

__all__ = ["believed_offsets"]

_MARGIN = 2.0
_STEPS = 20


def believed_offsets(noisy: Floats, variance: Floats, weight: Floats) -> Floats:
    """Drawn to a straight line in log weight, and the line to nothing.

    Parameters
    ----------
    noisy, variance
        Offsets as released, and the variance of what is wrong with each.
    weight
        How much weight each item's users have together: what is rated often tends to be rated higher.
    """
    spread = 0.0
    line = np.zeros_like(noisy)
    for _ in range(_STEPS):
        trust = 1.0 / (variance + spread)
        line = _line(noisy, trust, np.log(weight))
        square = trust**2
        excess = (square * ((noisy - line) ** 2 - variance)).sum() / square.sum()
        error = np.sqrt(2.0 * (square**2 * (variance + spread) ** 2).sum()) / square.sum()
        previous, spread = spread, max(float(excess - _MARGIN * error), 0.0)
        if abs(spread - previous) <= 1e-4 * previous:
            break
    found: Floats = line + spread / (spread + variance) * (noisy - line)
    return found


def _line(noisy: Floats, trust: Floats, place: Floats) -> Floats:
    """A level and a slope by least squares, each as far as it stands out."""
    place = place - np.average(place, weights=trust)
    level = np.average(noisy, weights=trust)
    line = np.full_like(noisy, level * _standing_out(level**2 * trust.sum()))
    curvature = float((trust * place**2).sum())
    if curvature > 0.0:
        slope = float((trust * place * noisy).sum()) / curvature
        line += slope * _standing_out(slope**2 * curvature) * place
    return line


def _standing_out(square: float) -> float:
    """How much of a number is kept whose square is so many times its variance."""
    return max(0.0, 1.0 - _MARGIN**2 / max(float(square), 1e-300))
