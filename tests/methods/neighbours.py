"""How far some users move a release, in units of what it costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.privacy import Noise
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.totals import exact_totals
from discreet.types import Floats


class Scales(Noise):
    """No noise at all, but a record of the scales that were asked for, in the order of the blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Floats] = []

    def integers(self, sigma: Floats) -> Floats:
        self.drawn.append(sigma.copy())
        return np.zeros_like(sigma)

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        self.drawn.append(np.broadcast_to(sigma[:, None, None], (sigma.size, order, order)))
        return np.zeros((sigma.size, order, order))


def noise_scales(forms: Sequence[Block], mu: float) -> list[Floats]:
    """The noise that these blocks draw for every entry of their sums."""
    scales = Scales()
    for form in forms:
        form.noise(scales, mu)
    return scales.drawn


def distance(moved: Sequence[Floats], forms: Sequence[Block], mu: float = 0.01) -> float:
    """Length of a change of the exact sums in standard deviations of the noise, divided by the mu that is paid.

    For a symmetric matrix the scale is that of the full matrix before it was symmetrised, and all entries count.
    """
    scales = noise_scales(forms, mu)
    square = sum(
        float(((change / scale.reshape(change.shape)) ** 2).sum())
        for change, scale in zip(moved, scales, strict=True)
    )
    return float(np.sqrt(square)) / mu


def move(full: Sequence[Block], less: Sequence[Block], mu: float = 0.01) -> float:
    """How many units of the bound lie between two releases that are as the gate makes them but for the noise."""
    pairs = zip(exact_totals(full), exact_totals(less), strict=True)
    return distance([one.value - other.value for one, other in pairs], full, mu)
