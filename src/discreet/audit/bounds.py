"""Lower bounds on what a mechanism costs, from the outcomes of games against it. Derivations: ``proofs/audit.md``.

Every bound holds with the stated confidence whatever the mechanism is, under what its docstring says about the scores;
the larger the bound, the more was found. A bound above the claim refutes the claim.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta, chi2, norm

from discreet.privacy.accounting import epsilon_from
from discreet.types import Floats

__all__ = [
    "best_threshold",
    "clopper_pearson",
    "epsilon_of_guesses",
    "epsilon_of_mu",
    "mu_of_means",
    "mu_of_noise",
]


def mu_of_means(without: Floats, present: Floats, risk: float) -> float:
    """From how far apart the scores of two worlds lie, in standard deviations of the world without the canary.

    Scores are sums of products of releases with directions of norm 1 that earlier releases may choose: under Gaussian
    noise the variance without the canary is at most 1, and nothing moves the mean by more than mu.
    """
    spread = float(without.var(ddof=1))
    if not spread > 0.0:
        return math.inf if present.mean() != without.mean() else 0.0
    apart = float(present.mean() - without.mean()) / math.sqrt(spread)
    other = float(present.var(ddof=1)) / spread
    # Of the two means, and of the standard deviation.
    variance = 1.0 / len(without) + other / len(present) + 0.5 * apart**2 / len(without)
    return max(0.0, apart - float(norm.isf(risk)) * math.sqrt(variance))


def mu_of_noise(residuals: Floats, shift: float, risk: float) -> float:
    """From the noise alone: ``shift`` is known without error, being a difference of integers.

    ``residuals`` are scores less what the exact totals account for, from both worlds. Takes a release for exact totals
    plus Gaussian noise of an unknown scale.
    """
    square = float(np.square(residuals).sum())
    if not square > 0.0:
        return math.inf if shift > 0.0 else 0.0
    return max(0.0, shift) / math.sqrt(square / float(chi2.ppf(risk, len(residuals))))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """The epsilon at this delta of a mechanism that is as distinguishable as two Gaussians mu apart."""
    return epsilon_from(mu, delta)


def clopper_pearson(count: int, trials: int, risk: float) -> tuple[float, float]:
    """Bounds below and above on a probability, each wrong with a chance of at most ``risk``."""
    low = 0.0 if count == 0 else float(beta.ppf(risk, count, trials - count + 1))
    high = 1.0 if count == trials else float(beta.isf(risk, count + 1, trials - count))
    return low, high


def epsilon_of_guesses(right: int, wrong: int, trials: int, delta: float, risk: float) -> float:
    """From how often a guess of the world was right and how often wrong; no guess otherwise. Assumes nothing else.

    (epsilon, delta) says that for half of the trials in each world ``P(right) <= e^epsilon P(wrong) + delta``.
    """
    least, _ = clopper_pearson(right, trials, 0.5 * risk)
    _, most = clopper_pearson(wrong, trials, 0.5 * risk)
    return max(0.0, math.log(max(least - delta, 1e-300) / most))


def best_threshold(mu: float, trials: int, delta: float, risk: float) -> float:
    """How far from the middle a Gaussian score must lie for a guess, so that the bound to be expected is largest.

    From the claim alone, before anything is played: a threshold chosen by looking at the scores would be no test.
    """
    grid = np.linspace(0.0, 4.5, 91)
    rights, wrongs = norm.sf(grid - 0.5 * mu), norm.sf(grid + 0.5 * mu)
    bounds = [
        epsilon_of_guesses(round(trials * right), round(trials * wrong), trials, delta, risk)
        for right, wrong in zip(rights.tolist(), wrongs.tolist(), strict=True)
    ]
    return float(grid[int(np.argmax(bounds))])
