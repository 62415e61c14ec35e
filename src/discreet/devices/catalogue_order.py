"""Whether what devices told of popularity is worth more than the order of the catalogue, which is free.

Catalogues are often in some order of fame, and who has one can show its head without asking anybody. Under heavy noise
the order of the estimates is next to random, however they are shrunk: a list by them is then worse than the head.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.types import Floats

__all__ = ["stands_out"]

_HEAD = 10
_DEPTHS = (1, 3, 10)
_ERRORS = 2.0


def stands_out(expected: Floats, popularity: Floats, variance: float) -> bool:
    """Whether the items that seem most popular are so by more than the noise in what the catalogue's head brings.

    Parameters
    ----------
    expected
        Posterior means of the items' shares.
    popularity, variance
        What they were made of: estimates without bias, and the variance of each.

    Notes
    -----
    Compared are sums of shares over a list: of the items with the largest posterior means, and of as many from the head
    of the catalogue or from anywhere, whichever is more, plus two standard errors. Without a signal the posterior means
    lie far below that. With one, the errors shrink and the means do not. Lists of 10, 30 and 100 are looked at (shorter
    ones of a small catalogue): where the first items are the most popular ones, the rest may be in no order.

    **Privacy.** Works on released numbers alone.
    """
    head = min(max(len(expected) // 10, 1), _HEAD)
    lengths = (depth * head for depth in _DEPTHS if depth == 1 or 2 * depth * head <= len(expected))
    most = np.sort(expected)[::-1]
    mean = float(popularity.mean())
    return any(
        most[:length].sum()
        > max(float(popularity[:length].sum()), length * mean) + _ERRORS * math.sqrt(length * variance)
        for length in lengths
    )
