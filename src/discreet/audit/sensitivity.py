"""How far a change of the exact sums moves a release, in units of what it costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import exact_totals
from discreet.types import Floats

__all__ = ["Scales", "distance", "move", "noise_scales", "whitened"]


class Scales(Noise):
    """No noise at all, but a record of the scales that were asked for, in the order of the blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Floats] = []

    def integers(self, sigma: Floats) -> Floats:
        """Zeros; notes the scale."""
        self.drawn.append(sigma.copy())
        return np.zeros_like(sigma)

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        """Zeros; notes the scale of the full matrix before it is symmetrised."""
        self.drawn.append(np.broadcast_to(sigma[:, None, None], (sigma.size, order, order)))
        return np.zeros((sigma.size, order, order))


def noise_scales(forms: Sequence[Block], mu: float) -> list[Floats]:
    """The noise that these blocks draw for every entry of their sums."""
    scales = Scales()
    for form in forms:
        form.noise(scales, mu)
    return scales.drawn


def whitened(arrays: Sequence[Floats], scales: Sequence[Floats]) -> Floats:
    """All entries of all blocks in standard deviations of their noise, one after the other.

    For a symmetric matrix the scale is that of the full matrix before it was symmetrised, and all entries count: the
    inner product with a symmetric direction of norm 1 then has variance 1, diagonal or not.
    """
    parts = [
        (array / scale.reshape(array.shape)).ravel() for array, scale in zip(arrays, scales, strict=True)
    ]
    return np.concatenate([np.zeros(0), *parts])


def distance(moved: Sequence[Floats], forms: Sequence[Block], mu: float = 0.01) -> float:
    """Length of a change of the exact sums in standard deviations of the noise, divided by the mu that is paid."""
    return float(np.linalg.norm(whitened(moved, noise_scales(forms, mu)))) / mu


def move(full: Sequence[Block], less: Sequence[Block], mu: float = 0.01) -> float:
    """How many units of the bound lie between two releases that are as the gate makes them but for the noise."""
    pairs = zip(exact_totals(full), exact_totals(less), strict=True)
    return distance([(one.value - other.value).astype(np.float64) for one, other in pairs], full, mu)
