"""The binomial sampler as what it is: a rising function of one uniform number, known by where it rises.

A draw takes a quarter of a millisecond, so a hundred million of them would take hours. Instead the places where the
outcome rises are found by halving, with the sampler itself asked at every step, and held against exact distribution
functions. With these places known to 64 binary digits, the outcome for a random word is found by looking it up.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import mpmath
import numpy as np

from discreet.privacy.pure.noise import binomial_above
from discreet.types import Words
from tests.privacy.draws.laws import passing

CELLS, RATE, THRESHOLD = 40, Fraction(1, 2), 6
DIGITS = 1200
"""Binary digits of the uniform numbers that the sampler is asked with; it takes some 170 where nothing is close."""


def outcome(number: int, digits: int = DIGITS) -> int:
    """What the sampler makes of the uniform number 0.number, written with so many binary digits."""
    at = 0

    def bits(count: int) -> int:
        nonlocal at
        at += count
        assert at <= digits, "the sampler asks for more digits than there are"
        return (number >> (digits - at)) & ((1 << count) - 1)

    return binomial_above(CELLS, RATE, THRESHOLD, bits)


def edge(below: int, resolution: int) -> int:
    """The first number of so many binary digits whose outcome is above ``below``."""
    low, high = 0, 1 << resolution
    while low < high:
        middle = (low + high) // 2
        if outcome(middle << (DIGITS - resolution)) > below:
            high = middle
        else:
            low = middle + 1
    return low


def exact_edge(below: int, resolution: int) -> int:
    """The first number of so many binary digits that is above P(binomial <= below)."""
    with mpmath.workprec(4 * resolution):
        chance = passing(RATE, THRESHOLD)
        total = mpmath.fsum(
            mpmath.binomial(CELLS, number) * chance**number * (1 - chance) ** (CELLS - number)
            for number in range(below + 1)
        )
        return int(mpmath.ceil(mpmath.ldexp(total, resolution)))


@cache
def word_edges() -> Words:
    """The first 64-bit word of each outcome above zero, as far as words tell them apart."""
    found = (edge(below, 64) for below in range(CELLS))
    return np.array([first for first in found if first < 1 << 64], dtype=np.uint64)
