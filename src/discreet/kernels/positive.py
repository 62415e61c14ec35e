"""Solves with the positive part of a tridiagonal matrix, without its eigenvectors.

Wanted is ``f(T) b`` with ``f(s) = 1 / (max(s, 0) + r)``: the projection to the positive semidefinite cone and the
ridge solve in one. With ``g(z) = 1/(z + r) - 1/r`` Cauchy's integral over the imaginary axis gives g on the positive
half of the spectrum and nothing on the negative half, hence

    f(s) = 1/(2r) + (1/pi) * integral over t of  y Re[ g(iy) / (s - iy) ],   y = exp(t).

The integrand is analytic in a strip of half width pi/2 around the real t axis, whatever s is, so the trapezoidal
rule with step h is exact up to ``exp(-pi^2 / h)`` (Trefethen and Weideman, The exponentially convergent trapezoidal
rule, 2014). Each node is one complex tridiagonal solve; the imaginary shift keeps every pivot away from zero. Below
``LOWEST * r`` nodes are left out (the error is at most that share of 1/r); above ``HIGHEST`` times the norm of T the
integrand is (1 - s/r)/y and the remaining nodes are a geometric series.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.kernels.compile import kernel
from discreet.kernels.lanes import FOUR, load_wide, splat_wide, store, total
from discreet.kernels.registers import lanes

__all__ = ["solve_positive"]

STEP = 0.28
"""exp(-pi^2 / 0.28) = 5e-16."""
LOWEST = 1e-13
HIGHEST = 1e5
NODES = FOUR * lanes("float64")
"""Nodes taken at once, side by side in vector registers."""


@kernel
def solve_positive(diagonal: Any, beside: Any, r: float, b: Any, x: Any, z: Any, work: Any) -> None:
    """``x = f(T) b`` and ``z = f(T) e_0``, the first unit vector, for T of the size of `b`.

    `work` is 4 x (size * NODES).
    """
    d = len(b)
    top = max(_norm(diagonal, beside, d), r)
    count = int(math.log(top / r * (HIGHEST / LOWEST)) / STEP) // NODES * NODES + NODES
    last = LOWEST * r * math.exp(STEP * (count - 1))
    rest = 1 / (last * math.expm1(STEP))
    _tail(diagonal, beside, r, b, rest, x)
    for k in range(d):
        work[0, k] = 1.0 if k == 0 else 0.0
    _tail(diagonal, beside, r, work[0], rest, z)
    nodes = np.empty((3, NODES))
    for start in range(0, count, NODES):
        for s in range(NODES):
            y = LOWEST * r * math.exp(STEP * (start + s))
            nodes[0, s] = y
            # y g(iy) = -(y^3 + i r y^2) / (r (r^2 + y^2)), multiplied with x its real part is:
            nodes[2, s] = STEP / math.pi * y * y / (r * r + y * y)
            nodes[1, s] = -nodes[2, s] * y / r
        _eliminate(diagonal, beside, b, nodes, work)
        _add_nodes(beside, nodes, work, x, z)


@kernel
def _norm(diagonal: Any, beside: Any, d: int) -> float:
    """Gershgorin's bound of the largest eigenvalue in size."""
    largest = 0.0
    for k in range(d):
        size = abs(diagonal[k])
        if k > 0:
            size += abs(beside[k - 1])
        if k < d - 1:
            size += abs(beside[k])
        largest = max(largest, size)
    return largest


@kernel
def _tail(diagonal: Any, beside: Any, r: float, b: Any, rest: float, x: Any) -> None:
    """What stands outside the sum over nodes: 1/(2r) and the geometric series of the nodes above all others."""
    d = len(x)
    for k in range(d):
        product = diagonal[k] * b[k]
        if k > 0:
            product += beside[k - 1] * b[k - 1]
        if k < d - 1:
            product += beside[k] * b[k + 1]
        x[k] = b[k] / (2 * r) + STEP / math.pi * rest * (b[k] - product / r)


@kernel
def _eliminate(diagonal: Any, beside: Any, b: Any, nodes: Any, work: Any) -> None:
    """From the last row up: reciprocal pivots of ``T - iy`` (rows 0, 1 of `work`) and reduced `b` (rows 2, 3)."""
    d = len(b)
    zero, one = splat_wide(0.0), splat_wide(1.0)
    minus_y = zero - load_wide(nodes, 0, 0)
    real = imaginary = re = im = zero
    for k in range(d - 1, -1, -1):
        pull = splat_wide(-beside[k] if k < d - 1 else 0.0)
        square = zero - pull * pull
        pivot_re = splat_wide(diagonal[k]) + square * real
        pivot_im = minus_y + square * imaginary
        size = one / (pivot_re * pivot_re + pivot_im * pivot_im)
        real = pivot_re * size
        imaginary = (zero - pivot_im) * size
        re, im = splat_wide(b[k]) + pull * re, pull * im
        re, im = re * real - im * imaginary, re * imaginary + im * real
        store(work, 0, k * NODES, real)
        store(work, 1, k * NODES, imaginary)
        store(work, 2, k * NODES, re)
        store(work, 3, k * NODES, im)


@kernel
def _add_nodes(beside: Any, nodes: Any, work: Any, x: Any, z: Any) -> None:
    """From the first row down: the solutions for `b` and for the unit vector, added to `x` and `z` by weight."""
    by_real, by_imaginary = load_wide(nodes, 1, 0), load_wide(nodes, 2, 0)
    re = im = z_im = splat_wide(0.0)
    z_re = splat_wide(-1.0)
    for k in range(len(x)):
        pull = splat_wide(-beside[k - 1] if k > 0 else -1.0)
        real, imaginary = pull * load_wide(work, 0, k * NODES), pull * load_wide(work, 1, k * NODES)
        re, im = (
            load_wide(work, 2, k * NODES) + re * real - im * imaginary,
            load_wide(work, 3, k * NODES) + re * imaginary + im * real,
        )
        z_re, z_im = z_re * real - z_im * imaginary, z_re * imaginary + z_im * real
        x[k] += total(by_real * re + by_imaginary * im)
        z[k] += total(by_real * z_re + by_imaginary * z_im)
