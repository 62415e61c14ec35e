"""What an audit finds, and the lower bounds that it rests on. Derivations: ``proofs/audit.md``.

Every bound holds with the stated confidence whatever the mechanism is, under what its docstring says about the scores;
the larger the bound, the more was found. A bound above the claim refutes the claim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, chi2, norm

from discreet.types import Floats

__all__ = [
    "GameFinding",
    "ReleaseFinding",
    "ReplayFinding",
    "best_threshold",
    "clopper_pearson",
    "epsilon_of_guesses",
    "mu_of_means",
    "mu_of_noise",
]

# Float rounding in lengths; the gate draws noise for as much (discreet.privacy.gaussian.blocks.SLACK).
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ReleaseFinding:
    """One release: what it was charged (mu, or epsilon without delta), and the largest move of it in units of that."""

    name: str
    cost: float
    worst: float


@dataclass(frozen=True)
class ReplayFinding:
    """What a replay found.

    Parameters
    ----------
    alone
        Whether nobody's contribution depended on who else was there.
    engines
        For each engine, whether it gave the same integers.
    neighbours
        How many pairs of neighbouring data sets were compared.
    """

    releases: tuple[ReleaseFinding, ...]
    alone: bool
    engines: Mapping[str, bool]
    neighbours: int

    @property
    def worst(self) -> float:
        """The largest move of any release, in units of its bound: at most 1 where the promise holds."""
        return max((release.worst for release in self.releases), default=0.0)

    @property
    def passed(self) -> bool:
        """Whether nothing moved by more than was paid for, and nobody but the neighbour moved it."""
        return self.worst <= 1.0 + _ROUNDING and self.alone and all(self.engines.values())

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "worst_ratio": self.worst,
            "neighbours": self.neighbours,
            "nobody_else_moved": self.alone,
            "engines": dict(self.engines),
            "releases": [vars(release) for release in self.releases],
            "passed": self.passed,
        }


@dataclass(frozen=True)
class GameFinding:
    """What a game found against a promise (``claimed``, ``delta``), with so many runs in each world.

    Parameters
    ----------
    reach
        Part of the bound that the canary uses, on average over runs.
    bounds
        Lower bounds on epsilon, by how they were found.
    risk
        Chance that any of them is above the truth.
    """

    claimed: float
    delta: float
    runs: int
    reach: float
    bounds: Mapping[str, float]
    risk: float

    @property
    def lower_bound(self) -> float:
        """The largest of the lower bounds on epsilon."""
        return max(self.bounds.values())

    @property
    def passed(self) -> bool:
        """Whether no lower bound is above the claim."""
        return self.lower_bound <= self.claimed

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {**vars(self), "lower_bound": self.lower_bound, "passed": self.passed}


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
