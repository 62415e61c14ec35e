"""What the generator of normal numbers can and cannot draw: the figures of ``proofs/gate.md``, worked out again."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path

import mpmath
import numpy as np
import pytest
from randomgen import AESCounter, UserBitGenerator

from discreet.errors import BudgetInvalid
from discreet.privacy import gaussian
from discreet.privacy.budget import LEAST_DELTA, Budget
from discreet.privacy.gaussian import gate

NOTE = (Path(gaussian.__file__).parent / "proofs" / "gate.md").read_text()
R = mpmath.mpf("3.6541528853610088")
STEP = mpmath.mpf(2) ** -15
WORD = (1 << 64) - 1


def drawn(words: list[int]) -> float:
    """The normal number that these words make; after them come words that end any search, where the tail begins."""
    left: Iterator[int] = itertools.chain(words, itertools.cycle([0, WORD]))
    source = UserBitGenerator(lambda state: next(left), 64)
    return float(np.random.Generator(source).standard_normal())


def error(z: mpmath.mpf) -> mpmath.mpf:
    """Weight of one point of the tail relative to the step it lies in."""
    return mpmath.exp(R * (z - R)) * mpmath.mpf(2) ** -53 / (R * STEP)


def test_spacing_of_the_strips() -> None:
    """A number is a multiple of its strip's spacing: the word's 52 bits times the width of the strip."""
    widths: dict[int, float] = {}
    for key in range(2_500):
        word = int(AESCounter(key=key).random_raw(1)[0])
        bits = (word >> 9) & ((1 << 52) - 1)
        number = abs(np.random.Generator(AESCounter(key=key)).standard_normal())
        spacing = number / bits * 2.0**52
        if number < R:
            widths[word & 255] = min(spacing, widths.get(word & 255, math.inf))
    assert len(widths) > 250
    stated = float(re.findall(r"spacing at most `([\d.]+) \* 2\^-52 sigma`", NOTE)[0])
    assert stated - 0.01 < max(widths.values()) <= stated
    assert max(widths.values()) / (2.0**52 * float(STEP)) == pytest.approx(2.9e-11, rel=0.03)
    assert float(1 / STEP) / 2.0 == gate._RESOLUTION


@pytest.mark.parametrize("delta", [9.9e-21, 1e-30, 1e-40, 1e-299])
def test_a_delta_that_nothing_can_carry_is_refused(delta: float) -> None:
    with pytest.raises(
        BudgetInvalid, match="below what the random generator and its keys of 128 bits can carry"
    ):
        Budget(1.0, delta)
    with pytest.raises(BudgetInvalid, match="choose at least 1e-20"):
        Budget.parse("1", str(delta))


def test_the_least_delta_is_above_the_chance_of_a_gap() -> None:
    assert Budget(1.0, LEAST_DELTA).mu > 0.0
    gap = R + mpmath.log(1 / error(R)) / R
    assert float(2 * mpmath.ncdf(-gap)) * 1e6 < LEAST_DELTA / 100.0
    assert LEAST_DELTA > 2.0**28 / 2.0**128
