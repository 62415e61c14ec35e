"""How many of very many empty cells pass a noisy threshold: binomial numbers, drawn exactly.

Proof note: ``proofs/pure.md``. Inversion: a uniform number is compared with the distribution function. Both are known
to so many digits only, and where these do not decide, more digits of the same number are drawn. So the outcome
is the one that infinitely many digits would give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from discreet.errors import SettingsInvalid

__all__ = ["binomial_above", "check_silent"]

_BITS_PER_DIGIT = 4
# Inversion counts up from zero; more empty cells than this are of no use.
_MOST = 1_000


def binomial_above(cells: int, rate: Fraction, threshold: int, bits: Callable[[int], int]) -> int:
    """How many of `cells` independent two-sided geometric numbers are at or above `threshold`."""
    if cells <= 0:
        return 0
    # The distribution function is near 1 - cells exp(-rate threshold): how far below 1 it lies matters only in the
    # rare case that so many digits of the number do not tell, and then they are doubled.
    digits = 40 + len(str(cells))
    known, length = 0, 0
    while True:
        more = digits * _BITS_PER_DIGIT - length
        known, length = (known << more) | bits(more), length + more
        found = _invert(cells, rate, threshold, known, length, digits)
        if found is not None:
            return found
        digits *= 2


def check_silent(cells: int, rate: Fraction, threshold: int) -> None:
    """Refuse a threshold that would let very many empty cells pass. All of this is public."""
    if threshold < 1:
        raise SettingsInvalid("a cell's threshold must be at least one user")
    exponent = math.log(max(cells, 1)) - float(rate * threshold)
    if not exponent <= math.log(_MOST):
        raise SettingsInvalid(
            f"a threshold of {threshold} users lets about exp({exponent:.3g}) empty cells pass; "
            "use fewer dimensions or a higher threshold"
        )


def _invert(cells: int, rate: Fraction, threshold: int, known: int, length: int, digits: int) -> int | None:
    # Twice the digits: what is left of the rounding errors of a few thousand steps is far below the margin.
    with localcontext(Context(prec=2 * digits, Emin=-(10**9), Emax=10**9)):
        step = Decimal(rate.numerator) / Decimal(rate.denominator)
        passing = (-step * threshold).exp() / (1 + (-step).exp())
        chance = ((1 - passing).ln() * cells).exp()
        odds = passing / (1 - passing)
        margin = Decimal(10) ** -(digits)
        low = Decimal(known) / (Decimal(2) ** length)
        high = low + 1 / (Decimal(2) ** length) + margin
        low -= margin
        total = chance
        for number in range(min(cells, 10 * _MOST) + 1):
            if number == cells or high < total:
                return number
            if not low > total:
                return None
            chance *= odds * (cells - number) / (number + 1)
            total += chance
    return None
