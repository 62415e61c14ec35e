"""Exact laws of what the samplers draw: a probability for every integer, none of them estimated.

Every law takes ``off``, by how much it is wrong: a share of the scale, or an amount added to a coin's chance. Draws
must fit the law at 0 and not the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
from scipy import signal, special

from discreet.types import Floats

# Beyond this many standard deviations a Gaussian law is cut off: a chance of 1e-19 for each number.
_REACH = 9.0
# The same for geometric laws, in multiples of 1 / rate.
_DECAYS = 44.0


@dataclass(frozen=True)
class Law:
    """Probabilities of the integers from ``start`` on."""

    start: int
    chances: Floats

    @property
    def values(self) -> Floats:
        return self.start + np.arange(len(self.chances), dtype=np.float64)


def gaussian(sigma: float, *, step: float = 1.0, down: bool = False, off: float = 0.0) -> Law:
    """A Gaussian number rounded to integers, then down to multiples of ``step`` where ``down``, in these steps."""
    reach = math.ceil(_REACH * sigma / step)
    lower = np.arange(-reach, reach + 2) * step if down else np.arange(-reach, reach + 2)
    edges = (lower - 0.5) / (sigma * (1.0 + off))
    # From the nearer end, so that tails keep their digits.
    below, above = special.ndtr(edges), special.ndtr(-edges)
    return Law(-reach, np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1]))


def share(sigma: float, honest: int, *, fine: float, off: float = 0.0) -> Law:
    """One silo's share: a rounded Gaussian number and a rounded one of ``fine`` times its scale."""
    scale = sigma / math.sqrt(honest)
    return _sum(gaussian(scale, off=off), gaussian(scale * fine, off=off))


def shares(sigma: float, honest: int, *, fine: float, off: float = 0.0) -> Law:
    """The sum of as many shares as must suffice."""
    one = total = share(sigma, honest, fine=fine, off=off)
    for _ in range(honest - 1):
        total = _sum(total, one)
    return total


def geometric(rate: Fraction, *, two_sided: bool, off: float = 0.0) -> Law:
    """P(z >= j) = exp(-rate j), or P(z) proportional to exp(-rate |z|)."""
    decay = float(rate) / (1.0 + off)
    reach = math.ceil(_DECAYS / float(rate))
    if two_sided:
        values = np.arange(-reach, reach + 1)
        return Law(-reach, np.exp(-decay * np.abs(values)) * math.tanh(decay / 2.0))
    return Law(0, np.exp(-decay * np.arange(reach + 1)) * -math.expm1(-decay))


def passing(rate: Fraction, threshold: int, *, off: float = 0.0) -> mpmath.mpf:
    """Chance of a two-sided geometric number to be at or above a threshold of at least 1."""
    decay = mpmath.mpf(rate.numerator) / rate.denominator / (1 + mpmath.mpf(off))
    return mpmath.exp(-decay * threshold) / (1 + mpmath.exp(-decay))


def binomial(cells: int, rate: Fraction, threshold: int, *, off: float = 0.0) -> Law:
    """How many of ``cells`` two-sided geometric numbers are at or above a threshold."""
    chance = passing(rate, threshold, off=off)
    return Law(
        0,
        np.array(
            [
                float(mpmath.binomial(cells, number) * chance**number * (1 - chance) ** (cells - number))
                for number in range(cells + 1)
            ]
        ),
    )


def coin(chance: float, *, off: float = 0.0) -> Law:
    """One with this chance, otherwise zero."""
    return Law(0, np.array([1.0 - chance - off, chance + off]))


def coins_until_tails(chance: float, *, off: float = 0.0) -> Law:
    """How often a coin of this chance shows heads before it first does not."""
    heads = chance + off
    return Law(0, (1.0 - heads) * heads ** np.arange(math.ceil(_DECAYS / -math.log(chance)) + 1))


def _sum(one: Law, other: Law) -> Law:
    """The law of the sum of two independent numbers; cut off where the longer one is, on either side."""
    full = signal.convolve(one.chances, other.chances)
    # The transform leaves errors of 1e-17 of either sign where next to nothing is.
    return Law(one.start + other.start, np.maximum(full, 0.0))
