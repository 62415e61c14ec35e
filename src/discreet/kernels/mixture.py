"""How many of a number of sizes there are, from noisy measurements of them: a mixture over a fixed grid, by EM."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernels.checks import check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.types import Floats

__all__ = ["expected_sizes", "mixture_shares", "size_likelihoods"]

LEAST_LIKELY = 1e-300
FARTHEST = -700.0
"""Exponent below which nothing is likelier than that."""
RAISED = 2.0**900
"""A power of two changes no digit, and keeps products of small numbers off those that take processors long."""


def size_likelihoods(values: Floats, variance: Floats, sizes: Floats, width: Floats) -> Floats:
    """values x sizes: likelihood of each size relative to a value's likeliest, not below 1e-300.

    Parameters
    ----------
    values, variance
        Measurements and the variance of their noise.
    sizes, width
        The grid, and the variance of what a size stands for.
    """
    check_shapes(variance=(variance, values.shape), width=(width, sizes.shape))
    likely = np.empty((len(values), len(sizes)))
    share(_likelihoods, len(values), 20.0 * likely.size, values, variance, sizes, width, likely)
    return likely


def mixture_shares(likely: Floats, counts: Floats, steps: int) -> Floats:
    """Share of each size by maximum likelihood, after so many steps of EM from equal shares.

    Parameters
    ----------
    likely
        values x sizes, above zero.
    counts
        How many measurements each row stands for.

    Notes
    -----
    One pass over the table a step, all on the calling thread: a step takes less time than to wake another.
    """
    n, size = likely.shape
    check_shapes(counts=(counts, (n,)))
    share_of = np.full(size, 1.0 / size)
    _mixture(np.ascontiguousarray(likely), np.ascontiguousarray(counts, np.float64), steps, share_of)
    return share_of


def expected_sizes(
    values: Floats, variance: Floats, sizes: Floats, width: Floats, share_of: Floats
) -> Floats:
    """Expected true size of each value, none below zero, where `share_of` says how many of each size there are."""
    check_shapes(
        variance=(variance, values.shape), width=(width, sizes.shape), share_of=(share_of, sizes.shape)
    )
    out = np.empty(len(values))
    share(
        _expected, len(values), 20.0 * len(values) * len(sizes), values, variance, sizes, width, share_of, out
    )
    return out


@kernel
def _likelihood(value: float, variance: float, sizes: Any, width: Any, out: Any) -> None:
    highest = -np.inf
    for k in range(len(sizes)):
        away = value - sizes[k]
        out[k] = -0.5 * (away * away / (variance + width[k]))
        highest = max(highest, out[k])
    most = 0.0
    for k in range(len(sizes)):
        away = out[k] - highest
        out[k] = np.exp(away) / np.sqrt(variance + width[k]) if away > FARTHEST else 0.0
        most = max(most, out[k])
    for k in range(len(sizes)):
        out[k] = max(out[k] / most, LEAST_LIKELY)


@kernel
def _likelihoods(
    counter: Any, grain: int, values: Any, variance: Any, sizes: Any, width: Any, likely: Any
) -> None:
    first = claim(counter, grain)
    while first < len(values):
        for j in range(first, min(first + grain, len(values))):
            _likelihood(values[j], variance[j], sizes, width, likely[j])
        first = claim(counter, grain)


@kernel
def _mixture(likely: Any, counts: Any, steps: int, share_of: Any) -> None:
    n, size = likely.shape
    part, raised = np.empty(size), np.empty(size)
    whole = counts.sum()
    for _ in range(steps):
        for k in range(size):
            part[k] = 0.0
            raised[k] = share_of[k] * RAISED
        for j in range(n):
            total = 0.0
            for k in range(size):
                total += likely[j, k] * raised[k]
            scale = counts[j] * RAISED / total
            for k in range(size):
                part[k] += scale * likely[j, k]
        for k in range(size):
            share_of[k] *= part[k] / whole


@kernel
def _expected(
    counter: Any,
    grain: int,
    values: Any,
    variance: Any,
    sizes: Any,
    width: Any,
    share_of: Any,
    out: Any,
) -> None:
    likely = np.empty(len(sizes))
    first = claim(counter, grain)
    while first < len(values):
        for j in range(first, min(first + grain, len(values))):
            _likelihood(values[j], variance[j], sizes, width, likely)
            above, below = 0.0, 0.0
            for k in range(len(sizes)):
                joint = likely[k] * share_of[k]
                mean = sizes[k] + width[k] / (variance[j] + width[k]) * (values[j] - sizes[k])
                above += joint * max(mean, 0.0)
                below += joint
            out[j] = above / below
        first = claim(counter, grain)
