"""Geometric integers from random words: uniform integers and comparisons alone, so that no logarithm is rounded.

The method is that of Canonne, Kamath and Steinke (2020, algorithms 1 and 2). Every function reads ``words[at]`` and
hands back the next position, or -1 where the words are used up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compile import kernel
from discreet.types import Ints

__all__ = ["fill_geometric"]


def fill_geometric(
    words: NDArray[np.uint64], out: Ints, done: int, numerator: int, denominator: int, two_sided: bool
) -> tuple[int, int]:
    """Fill ``out[done:]`` as far as the words suffice.

    Parameters
    ----------
    words
        Random 64-bit words.
    out
        Numbers with P(z >= j) = exp(-rate j), or P(z) proportional to exp(-rate |z|) where two-sided.
    done
        How many of them there are already.
    numerator, denominator
        The rate. A denominator times some 2^18 must fit into 63 bits.
    two_sided
        Whether numbers have a sign.

    Returns
    -------
    done, used
        How many numbers there are now, and how many words they took: a number that the words did not suffice for
        has taken none.
    """
    count, used = _fill(words, out, done, numerator, denominator, two_sided)
    return int(count), int(used)


@kernel
def _below(words: Any, at: int, bound: int) -> tuple[int, int]:
    """A uniform integer in [0, bound)."""
    span = np.uint64(bound)
    # The highest multiple of the bound in 64 bits, less one; words above it are thrown away.
    largest = np.uint64(0xFFFFFFFFFFFFFFFF)
    excess = (largest % span + np.uint64(1)) % span
    last = largest - excess
    while at < len(words):
        word = words[at]
        at += 1
        if word <= last:
            drawn: Any = np.int64(word % span)
            return drawn, at
    return 0, -1


@kernel
def _decays(words: Any, at: int, numerator: int, denominator: int) -> tuple[bool, int]:
    """True with probability exp(-numerator / denominator), a fraction of at most 1."""
    k = 1
    while True:
        # k passes 2^18 with probability below 1 / (2^18)!, which is none.
        drawn, at = _below(words, at, denominator * k)
        if at < 0:
            return False, -1
        if drawn >= numerator:
            return k % 2 == 1, at
        k += 1


@kernel
def _fill(
    words: Any, out: Any, done: int, numerator: int, denominator: int, two_sided: bool
) -> tuple[int, int]:
    at = 0
    while done < len(out):
        start = at
        remainder, at = _below(words, at, denominator)
        if at < 0:
            return done, start
        kept, at = _decays(words, at, remainder, denominator)
        if at < 0:
            return done, start
        whole = 0
        while kept:
            again, at = _decays(words, at, 1, 1)
            if at < 0:
                return done, start
            if not again:
                break
            whole += 1
        if not kept:
            continue
        number = (remainder + denominator * whole) // numerator
        if two_sided:
            sign, at = _below(words, at, 2)
            if at < 0:
                return done, start
            if sign == 1:
                if number == 0:
                    continue
                number = -number
        out[done] = number
        done += 1
    return done, at
