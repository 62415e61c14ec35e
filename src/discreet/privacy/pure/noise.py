"""Integer noise whose probabilities are exactly what the accounting says, without delta.

Proof note: ``proofs/pure.md``. Geometric numbers are drawn by the method of Canonne, Kamath and Steinke (2020,
algorithms 1 and 2): nothing but uniform integers and comparisons, so no logarithm is ever rounded.

How many of very many empty cells pass a noisy threshold is a binomial number, drawn by inversion: a uniform number is
compared with the distribution function. Both are known to so many digits only, and where these do not decide, more
digits of the same number are drawn. So the outcome is the one that infinitely many digits would give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from randomgen import AESCounter

from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.kernels.geometric import fill_geometric
from discreet.privacy.gaussian.noise import Noise, own_noise
from discreet.types import Ints, Words

__all__ = ["PureNoise", "binomial_above", "check_silent", "rate_at_most"]


# A rate is so many of 2^e: the numerator has this many bits, the denominator at most as many as the kernel can
# multiply by small factors within 64.
_NUMERATOR_BITS = 20
_MOST_BITS = 44
# Words fetched at a time: some, and so many for each number.
_WORDS, _WORDS_EACH = 1 << 10, 12


def rate_at_most(value: float) -> Fraction:
    """The largest fraction with a short numerator and a power of two below it that is not above `value`."""
    if not (0.0 < value < math.inf):
        raise BudgetInvalid(f"a rate of noise must be above zero and finite, got {value}")
    exponent = _NUMERATOR_BITS - math.frexp(value)[1]
    exponent = min(max(exponent, 0), _MOST_BITS)
    numerator = min(math.floor(math.ldexp(value, exponent)), 1 << _NUMERATOR_BITS)
    if numerator < 1:
        raise BudgetInvalid(f"a rate of noise of {value:.3g} is too small to draw from; use a larger epsilon")
    return Fraction(numerator, 1 << exponent)


@own_noise
class PureNoise(Noise):
    """Noise for mechanisms without delta, beside the normal numbers of :class:`Noise`."""

    def words(self, size: int) -> Words:
        """Random 64-bit words."""
        raw: Words = AESCounter(key=self._next_key()).random_raw(size)
        return raw

    def bits(self, count: int) -> int:
        """So many random bits as one integer."""
        number = int.from_bytes(self.words(-(-count // 64)).tobytes(), "little")
        return number >> (-(-count // 64) * 64 - count)

    def geometric(self, rate: Fraction, size: int) -> Ints:
        """P(z >= j) = exp(-rate j) for j = 0, 1, 2, ..."""
        return self._draw(rate, size, two_sided=False)

    def two_sided(self, rate: Fraction, size: int) -> Ints:
        """P(z) proportional to exp(-rate |z|): the discrete Laplace distribution."""
        return self._draw(rate, size, two_sided=True)

    def _draw(self, rate: Fraction, size: int, *, two_sided: bool) -> Ints:
        out = np.empty(size, dtype=np.int64)
        done = 0
        # A number that the words did not suffice for starts again on the same words with more after them. With
        # other words instead, numbers that take many would come too rarely.
        words = self.words(_WORDS + _WORDS_EACH * size)
        while True:
            done, used = fill_geometric(words, out, done, rate.numerator, rate.denominator, two_sided)
            if done == size:
                return out
            words = np.concatenate([words[used:], self.words(_WORDS + _WORDS_EACH * (size - done))])


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
