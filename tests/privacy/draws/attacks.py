"""Published attacks on noise in floating point, written once and run against a plain baseline and against the gates.

inverse_logarithm
    Mironov, "On significance of the least significant bits for differential privacy" (2012): Laplace noise is the
    logarithm of one of 2^53 uniform numbers, so not every float can come out, and which ones can depends on the sum.
precision
    Haney et al., "Precision-based attacks and interval refining" (2022): a small output has more digits than a sum of
    the other value and any noise could have. It asks nothing about how the noise was drawn.
lattice
    Jin et al., "Are we there yet? Timing and floating-point attacks on differential privacy systems" (2022), for the
    ziggurat that numpy and this package draw normal numbers with: in each strip they are multiples of one number, and
    how many of these multiples fall on an integer shows what was added.
rounding sums
    Casacuberta et al., "Widespread underestimation of sensitivity in differentially private libraries" (2022): a sum
    of floats moves by far more than the one value that was added, because everybody's rounding changes.

The first two name outputs that a value of the exact sum cannot have made. Of a baseline the truth is never among them,
and where the other value is, no epsilon holds. The third weighs likelihoods over many outputs.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
from randomgen import UserBitGenerator

from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.pure.noise import PureNoise
from discreet.types import Bools, Floats

_WORD = (1 << 64) - 1
# Numbers nearer to zero than this part of the scale: the lattice attack counts points to a few percent there.
_NEAR = 2.0**-4


def inverse_logarithm(outputs: Floats, value: float, scale: float) -> Bools:
    """Which outputs no uniform number makes of ``value``, were the noise ``scale`` times a logarithm."""
    noise = outputs - value
    around = np.rint(np.exp(-np.abs(noise) / scale) * 2.0**53)
    possible = np.zeros(len(outputs), dtype=np.bool_)
    for step in range(-4, 5):
        uniform = np.clip(around + step, 1.0, 2.0**53) * 2.0**-53
        possible |= value + np.sign(noise) * (scale * -np.log(uniform)) == outputs
    return ~possible


def precision(outputs: Floats, value: float) -> Bools:
    """Which outputs are no sum of ``value`` and a float."""
    noise = outputs - value
    possible = value + noise == outputs
    for side in (-np.inf, np.inf):
        possible |= value + np.nextafter(noise, side) == outputs
    return ~possible


def lattice(outputs: Floats, values: tuple[float, float], sigma: float, step: float) -> float:
    """How clearly outputs speak for the first value and against the second, in standard errors.

    Whoever sees an output y knows that ``value + sigma n`` was between ``y - 1/2`` and ``y + step - 1/2``. How many
    points of the ziggurat lie there is the likelihood of the value. Only numbers near zero are looked at: there every
    strip has points, and double precision suffices to count them.
    """
    near = np.abs(outputs) < _NEAR * sigma
    one, other = (_points((outputs[near] - value - 0.5) / sigma, step / sigma) for value in values)
    ratio = np.log(np.maximum(one, 0.5)) - np.log(np.maximum(other, 0.5))
    spread = float(ratio.std())
    return float(ratio.mean()) / spread * math.sqrt(len(ratio)) if spread else 0.0


def _points(low: Floats, width: float) -> Floats:
    """How many numbers of the ziggurat, over all strips, are so little above ``low``."""
    found = np.zeros(len(low))
    for spacing in _strips():
        found += np.ceil((low + width) / spacing) - np.ceil(low / spacing)
    return found


def laplace_baseline(value: float, scale: float, size: int) -> Floats:
    """The textbook: a float plus a scaled logarithm of a uniform float."""
    words = PureNoise().words(2 * size)
    uniform = ((words[:size] >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53
    sign = np.where(words[size:] & np.uint64(1), 1.0, -1.0)
    return value + sign * (scale * -np.log(uniform))


def gaussian_baseline(value: float, sigma: float, size: int) -> Floats:
    """The textbook: a float plus a scaled normal number, from the very generator that the gate has."""
    return value + sigma * Noise().normals(size)


def hostile_values(users: int) -> Floats:
    """Values in [-1, 1], the first of them the user in question, whose float sum hangs on that user.

    Without that user the sum stays below a power of two, where each pair of values adds nothing; with the user it is
    above, where floats are twice as far apart and each pair adds a whole step of them.
    """
    ulp = float(np.spacing(np.float32(4096.0)))
    pairs = np.tile([0.6 * ulp, -0.4 * ulp], (users - 4097) // 2)
    return np.concatenate([np.ones(4096), [0.5], pairs])


def float_sum(values: Floats, kind: type) -> float:
    """One after the other, as a loop would."""
    return float(np.add.accumulate(values.astype(kind))[-1])


@cache
def _strips() -> tuple[float, ...]:
    """What the numbers of each strip of the ziggurat are multiples of, asked of the generator itself."""
    return tuple(_normal((1 << 40 << 9) | strip) / 2.0**40 for strip in range(256))


def _normal(word: int) -> float:
    words = itertools.chain([word], itertools.cycle([0, _WORD]))
    source = UserBitGenerator(lambda state: next(words), 64)
    return abs(float(np.random.Generator(source).standard_normal()))
