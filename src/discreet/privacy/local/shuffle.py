"""Privacy amplification by shuffling: the central epsilon of answers that pass through a shuffler.

Feldman, McMillan and Talwar, "Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification by
Shuffling" (FOCS 2021, arXiv 2012.12803): theorem 3.1 in closed form, and the numerical bound behind it (their theorem
3.2). When it applies is in ``proofs/shuffle.md``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from discreet.errors import BudgetInvalid

__all__ = ["central_delta", "central_epsilon", "closed_form_epsilon"]

# Numbers of clones are taken together in this many blocks, each counted as its smallest: more clones hide better.
_BLOCKS = 512
_NEGLIGIBLE = 1e-18
_STEPS = 40
# Relative error allowed to the tails of the binomial distribution.
_ROUNDING = 1e-9


def central_delta(local_epsilon: float, reports: int, epsilon: float) -> float:
    """Delta at which ``reports`` shuffled answers are (epsilon, delta)-DP together, at most; rounded up.

    With C clones, Binomial(reports - 1, e^-eps0), and A of them Binomial(C, 1/2), the two worlds are told apart no
    better than (A + D, C - A + 1 - D) from (A + 1 - D, C - A + D), where D is 1 with chance e^eps0 / (1 + e^eps0).
    """
    _check(local_epsilon, reports)
    if not epsilon >= 0.0:
        raise BudgetInvalid(f"epsilon must not be negative, got {epsilon}")
    if epsilon >= local_epsilon:
        return 0.0
    keep = 1.0 / (1.0 + math.exp(-local_epsilon))
    flip = 1.0 / (1.0 + math.exp(local_epsilon))
    chance = math.exp(-local_epsilon)
    starts = _blocks(reports - 1, chance)
    upto = binom.cdf(np.append(starts[1:] - 1, reports - 1), reports - 1, chance)
    weight = np.diff(upto, prepend=0.0) * (1.0 + _ROUNDING)
    # The likelihood ratio rises with the first number of the pair: above this, the first world is the likelier one.
    slope = (math.exp(epsilon) * keep - flip) / ((keep - flip) * (1.0 + math.exp(epsilon)))
    first = np.floor((starts + 1) * slope) + 1.0
    more, less = binom.sf(first - 2, starts, 0.5), binom.sf(first - 1, starts, 0.5)
    here = keep * more + flip * less
    there = math.exp(epsilon) * (flip * more + keep * less)
    given = np.maximum(here - there, 0.0) + _ROUNDING * here
    return min(1.0, float(given @ weight) + _NEGLIGIBLE)


def central_epsilon(local_epsilon: float, reports: int, delta: float) -> float:
    """Smallest epsilon (rounded up) for this delta; never above the local one, which holds without any shuffler.

    Parameters
    ----------
    local_epsilon
        Of each single answer.
    reports
        How many answers to the same question are shuffled together.
    delta
        Above 0 and below 1; should be well below 1 / reports.
    """
    _check(local_epsilon, reports)
    if not 0.0 < delta < 1.0:
        raise BudgetInvalid(f"delta must be above 0 and below 1, got {delta}")
    low, high = 0.0, float(local_epsilon)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if central_delta(local_epsilon, reports, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def closed_form_epsilon(local_epsilon: float, reports: int, delta: float) -> float:
    """Theorem 3.1: looser, but a formula. The local epsilon where the theorem does not apply."""
    _check(local_epsilon, reports)
    if not 0.0 < delta < 1.0:
        raise BudgetInvalid(f"delta must be above 0 and below 1, got {delta}")
    if local_epsilon > math.log(reports / (16.0 * math.log(2.0 / delta))):
        return local_epsilon
    power = math.exp(local_epsilon)
    inner = 8.0 * math.sqrt(power * math.log(4.0 / delta) / reports) + 8.0 * power / reports
    return min(local_epsilon, math.log1p(math.tanh(0.5 * local_epsilon) * inner))


def _blocks(others: int, chance: float) -> npt.NDArray[np.int64]:
    """Where blocks of the number of clones start: at 0, then evenly over all that is likely."""
    middle, spread = others * chance, math.sqrt(others * chance * (1.0 - chance)) + 1.0
    low, high = max(0, int(middle - 10.0 * spread)), min(others, int(middle + 10.0 * spread))
    return np.unique(np.append(np.linspace(low, high, _BLOCKS).astype(np.int64), 0))


def _check(local_epsilon: float, reports: int) -> None:
    if not 0.0 < local_epsilon <= 20.0:
        raise BudgetInvalid(f"the local epsilon must be above 0 and at most 20, got {local_epsilon}")
    if reports < 1:
        raise BudgetInvalid(f"at least one report is needed, got {reports}")
