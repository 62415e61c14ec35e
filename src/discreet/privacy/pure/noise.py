"""Integer noise whose probabilities are exactly what the accounting says, without delta.

Proof note: ``proofs/pure.md``. Geometric numbers are drawn by the method of Canonne, Kamath and Steinke (2020,
algorithms 1 and 2): nothing but uniform integers and comparisons, so no logarithm is ever rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from randomgen import AESCounter

from discreet.errors import BudgetInvalid
from discreet.kernels.geometric import fill_geometric
from discreet.privacy.gaussian.noise import Noise, own_noise
from discreet.types import Ints, Words

__all__ = ["PureNoise", "rate_at_most"]


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
