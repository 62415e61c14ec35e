"""Gaussian accounting: what a run's noise costs, exactly, and rounded conservatively.

One Gaussian release whose value moves by at most ``D`` (L2) when a user comes or goes, with noise
of standard deviation ``sigma``, costs ``mu = D / sigma``. Adaptively composed releases cost the root
of the sum of squares, and the whole run satisfies (epsilon, delta) for exactly the pairs on

    delta(epsilon; mu) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

(Balle and Wang 2018, theorem 8). The proof note is ``proofs/accounting.md``.

Every conversion is rounded in the conservative direction: a delta or an epsilon is never below
the true one, a mu never above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from discreet.errors import BudgetInvalid

__all__ = [
    "MIN_DELTA",
    "compose",
    "delta_from",
    "epsilon_from",
    "epsilon_renyi",
    "mu_from",
    "mu_renyi",
    "remaining",
    "round_up",
]

# Relative margin put on every delta. The arithmetic below is good to some 1e-11 wherever the result is
# a double at all, so the margin always wins; what it costs in epsilon is of the order of 1e-11.
_MARGIN = 1e-10
# mu_from leaves this much of mu unspent, so that sums of squares may carry rounding errors (the ledger
# accepts 1e-12) and the promise still holds for what was really spent.
_SLACK = 2e-12
_ULP = 2.0**-52
# Below this cut-off of the normal distribution (Phi(-50) = 1e-545) delta is no double any more.
_FAR_TAIL = -50.0

MIN_DELTA = 1e-300
"""Smallest delta that is accounted for; below it doubles lose their digits."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)
_NODES, _WEIGHTS = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0


def compose(mus: Iterable[float]) -> float:
    """Cost of several releases together: the root of the sum of squares."""
    return math.hypot(*(_cost(mu) for mu in mus))


def remaining(mu: float, *spent: float) -> float:
    """What is left of a cost of ``mu`` after releases that cost ``spent``; 0 where they cost more."""
    total = compose(spent)
    return math.sqrt(max(0.0, (mu - total) * (mu + total)))


def delta_from(mu: float, epsilon: float) -> float:
    """Smallest delta for which cost ``mu`` is (epsilon, delta)-private, rounded up by about 1e-10 of its value."""
    mu, epsilon = _cost(mu), _epsilon(epsilon)
    if mu == 0.0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    value = math.exp(min(0.0, _log_delta(mu, epsilon)))
    return min(1.0, math.nextafter(value, 1.0))


def epsilon_from(mu: float, delta: float, extra_delta: float = 0.0) -> float:
    """Smallest epsilon for which cost ``mu`` is (epsilon, delta)-private, rounded up.

    ``delta_from(mu, result) <= delta - extra_delta`` holds, the extra being what other events use of delta. Infinite
    where there was no noise, or nothing is left of delta.
    """
    mu, rest = _cost(mu), _rest(delta, extra_delta)
    if rest == 0.0 or math.isinf(mu):
        return math.inf
    if delta_from(mu, 0.0) <= rest:
        return 0.0
    target = math.log(rest)
    # The Rényi bound lies above; doubling only matters where mu is so large that epsilon has no digits left.
    upper = epsilon_renyi(mu, rest)
    while _log_delta(mu, upper) > target:
        upper *= 2.0
    if math.isinf(upper):
        return math.inf
    epsilon = _crossing(lambda x: _log_delta(mu, x) - target, 0.0, upper, 1e-14 * upper)
    step = 1e-14 * upper
    while delta_from(mu, epsilon) > rest:
        epsilon, step = epsilon + step, 2.0 * step
    return epsilon


def mu_from(epsilon: float, delta: float, extra_delta: float = 0.0) -> float:
    """Largest cost that is still (epsilon, delta)-private, rounded down.

    ``delta_from(result, epsilon) <= delta - extra_delta`` holds. Zero where nothing is left of delta.
    """
    epsilon, rest = _epsilon(epsilon), _rest(delta, extra_delta)
    if rest == 0.0:
        return 0.0
    target = math.log(rest)
    # Both are below the root: the Rényi bound never promises too much, and delta(epsilon; mu) < 0.4 mu.
    lower = max(mu_renyi(epsilon, rest), 2.0 * rest) * (1.0 - 1e-9)
    while _log_delta(lower, epsilon) > target:
        lower /= 2.0
    upper = 2.0 * lower
    while _log_delta(upper, epsilon) <= target:
        upper *= 2.0
    root = _crossing(
        lambda x: _log_delta(math.exp(x), epsilon) - target, math.log(lower), math.log(upper), 1e-13
    )
    mu, step = math.exp(root), 1e-12
    while delta_from(mu * (1.0 + _SLACK), epsilon) > rest:
        mu, step = mu * (1.0 - step), 2.0 * step
    return mu


def epsilon_renyi(mu: float, delta: float) -> float:
    """Epsilon by the DPALS paper's Rényi conversion: at or above :func:`epsilon_from`.

    Kept to reproduce published numbers; no promise of ours is made with it.
    """
    mu = _cost(mu)
    return mu * mu / 2.0 + mu * math.sqrt(-2.0 * math.log(_delta(delta)))


def mu_renyi(epsilon: float, delta: float) -> float:
    """Cost that the DPALS paper's Rényi conversion allows: at or below :func:`mu_from`."""
    epsilon, log_term = _epsilon(epsilon), -2.0 * math.log(_delta(delta))
    # sqrt(l + 2 epsilon) - sqrt(l) without the difference.
    return 2.0 * epsilon / (math.sqrt(log_term + 2.0 * epsilon) + math.sqrt(log_term))


def round_up(value: float) -> str:
    """Four digits, rounded up, so that what is read is never less than what is owed."""
    if value == 0.0:
        return "0"
    number = Context(prec=4, rounding=ROUND_CEILING).create_decimal(repr(value)).normalize()
    return f"{number:f}" if Decimal("1e-3") <= number < Decimal("1e6") else f"{number:e}"


def _crossing(f: Callable[[float], float], lower: float, upper: float, tolerance: float) -> float:
    """Where f changes sign, or the end at which rounding lets it have the same sign as at the other."""
    if f(lower) <= 0.0 and f(upper) <= 0.0:
        return lower
    return float(brentq(f, lower, upper, xtol=tolerance, rtol=4.0 * _ULP))


def _log_delta(mu: float, epsilon: float) -> float:
    """Upper bound of ln delta(epsilon; mu), above the truth by the margin only."""
    shift = epsilon / mu
    cut = mu / 2.0 - shift
    if cut < _FAR_TAIL:
        # delta < Phi(cut) < exp(-cut^2 / 2); 0.49 leaves room for rounding.
        return max(-0.49 * cut * cut, -1e300)
    exact = _log_delta_narrow(mu, cut) if mu < 1.0 else _log_delta_wide(mu, cut, shift)
    # ln delta moves by about (1 + |cut|) for each unit of cut, and cut carries the rounding of its terms.
    return exact + _MARGIN + 8.0 * _ULP * (1.0 + abs(cut)) * (1.0 + mu / 2.0 + shift)


def _log_delta_wide(mu: float, cut: float, shift: float) -> float:
    """ln(Phi(cut) - exp(epsilon) Phi(-mu/2 - shift)) where the two terms are well apart.

    With erfcx the second term is ``exp(-cut^2/2) erfcx((mu/2 + shift) / sqrt 2) / 2``: epsilon, which may
    be in the hundreds, cancels on paper and not in floating point.
    """
    first = float(log_ndtr(cut))
    second = math.log(float(erfcx((mu / 2.0 + shift) / math.sqrt(2.0))) / 2.0) - cut * cut / 2.0
    return first + math.log(-math.expm1(second - first))


def _log_delta_narrow(mu: float, cut: float) -> float:
    """The same where the two terms nearly agree, by an integral that has no difference in it.

    With privacy loss ``epsilon + mu s``, delta is the integral over ``s > 0`` of
    ``(1 - exp(-mu s)) phi(s - cut)``. Behind ``reach`` the factor ``exp(cut s - s^2/2)`` is below e^-80.
    """
    reach = 160.0 / (math.sqrt(cut * cut + 160.0) - cut)
    s = reach * _NODES
    # (1 - exp(-mu s)) / mu, whose limit is s; dividing by mu keeps the integral clear of underflow.
    loss = -np.expm1(-mu * s) / mu if mu > 1e-200 else s
    integral = reach * float(np.dot(_WEIGHTS, loss * np.exp(s * (cut - s / 2.0))))
    return math.log(mu) + math.log(integral) - cut * cut / 2.0 - math.log(2.0 * math.pi) / 2.0


def _cost(mu: float) -> float:
    mu = float(mu)
    if not mu >= 0.0:
        raise BudgetInvalid(f"a privacy cost mu must be zero or more, got {mu}")
    return mu


def _epsilon(epsilon: float) -> float:
    epsilon = float(epsilon)
    if not 0.0 <= epsilon < math.inf:
        raise BudgetInvalid(f"epsilon must be zero or more and finite, got {epsilon}")
    return epsilon


def _delta(delta: float) -> float:
    delta = float(delta)
    if not MIN_DELTA <= delta < 1.0:
        raise BudgetInvalid(f"delta must lie between {MIN_DELTA:g} and 1 (excluded), got {delta}")
    return delta


def _rest(delta: float, extra_delta: float) -> float:
    """What is left of delta for the Gaussian releases, rounded down; 0 for nothing."""
    delta, extra_delta = _delta(delta), float(extra_delta)
    if not 0.0 <= extra_delta < math.inf:
        raise BudgetInvalid(f"an extra delta must be zero or more and finite, got {extra_delta}")
    rest = math.nextafter(delta - extra_delta, -math.inf) if extra_delta else delta
    return rest if rest >= MIN_DELTA else 0.0
