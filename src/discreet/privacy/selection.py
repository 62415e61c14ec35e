"""Choosing the best of several private trials: what the choice costs, and how many trials there are.

Each trial is one mu-GDP mechanism whose output is a model with its noisy score. The number of trials is drawn at
random and never told, and only the best trial leaves (Papernot and Steinke 2021). Then the whole costs little more
than one trial, however many there were. With a fixed number of trials that is not so. The proof note is
``proofs/selection.md``.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from functools import lru_cache
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.optimize import brentq

from discreet.errors import BudgetInvalid
from discreet.privacy.accounting import MIN_DELTA, epsilon_from
from discreet.privacy.budget import Budget

__all__ = ["Selection", "budget_for", "composed_epsilon", "draw_trials"]

# Rényi orders to look at. Any set of them gives a valid bound; this one is within 0.2 % of the best.
_ORDERS = (1.0, *(1.0 + np.geomspace(0.02, 1e6, 200)).tolist())
# Relative, put on every epsilon: far above the rounding of the sums below.
# Nothing that costs more is private in any sense.
_LARGEST_MU = 1e6
_MARGIN = 1e-9
# What a ledger and two conversions may be off by, relative to mu.
_SLACK = 2e-12


class Selection(BaseModel):
    """The best of a random number of trials, of which nothing else is told.

    Parameters
    ----------
    mean_trials
        Mean of the geometric distribution (1, 2, 3, ...) that the number of trials is drawn from. Public.
    score_share
        Share of a trial's mu^2 that its score costs; the rest is for its model. Public.

    Notes
    -----
    **Privacy.** Every trial draws its settings independently from one public distribution that knows nothing of the
    ratings or of other trials, and costs at most mu. The number of trials and all other trials stay where they are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    distribution: Literal["geometric"] = "geometric"
    mean_trials: float = Field(gt=1.0, le=10_000.0)
    score_share: float = Field(gt=0.0, lt=1.0)

    def epsilon(self, mu: float, delta: float) -> float:
        """Epsilon of the whole selection at ``delta`` when every trial costs at most ``mu``, rounded up.

        Infinite where ``mu`` or ``delta`` is no number that can be accounted for.
        """
        return _epsilon(float(mu), float(delta), self.mean_trials)

    def trial_mu(self, budget: Budget) -> float:
        """Largest cost of one trial with which the whole selection stays within the budget, rounded down."""
        return _trial_mu(budget, self.mean_trials)


def draw_trials(mean_trials: float) -> int:
    """A number of trials from the geometric distribution with this mean, exactly and from the system's entropy.

    After each trial comes another one unless a coin says stop; the coin's chance, 1 / mean, is a ratio of integers.
    """
    numerator, denominator = float(mean_trials).as_integer_ratio()
    trials = 1
    while secrets.randbelow(numerator) >= denominator:
        trials += 1
    return trials


def budget_for(mu: float, delta: float) -> Budget:
    """The budget at this delta whose ledger takes charges up to ``mu`` and not more."""
    epsilon = epsilon_from(mu * (1.0 - _SLACK), delta)
    step = 1e-13
    while epsilon > 0.0:
        budget = Budget(epsilon, delta)
        if budget.mu * (1.0 + _SLACK) <= mu:
            return budget
        epsilon, step = epsilon * (1.0 - step), 2.0 * step
    raise BudgetInvalid(f"a cost of mu {mu:g} is too small to plan with at delta {delta:g}; raise epsilon")


@lru_cache(maxsize=256)
def composed_epsilon(mu: float, selections: tuple[tuple[float, float], ...], delta: float) -> float:
    """Epsilon at ``delta`` of Gaussian releases that cost ``mu`` and of selections, together, rounded up."""
    from dp_accounting import dp_event, rdp
    from dp_accounting.privacy_accountant import NeighboringRelation

    if not all(cost <= _LARGEST_MU for cost in (mu, *(trial for trial, _ in selections))):
        return math.inf  # the accountant takes what it cannot divide by for nothing at all
    accountant = rdp.RdpAccountant(list(_ORDERS), NeighboringRelation.ADD_OR_REMOVE_ONE)
    if mu > 0.0:
        accountant.compose(dp_event.GaussianDpEvent(1.0 / mu))
    for (trial_mu, mean_trials), count in Counter(selections).items():
        trial = dp_event.GaussianDpEvent(1.0 / trial_mu)
        accountant.compose(dp_event.RepeatAndSelectDpEvent(trial, mean_trials, 1.0), count)
    return float(accountant.get_epsilon(delta)) * (1.0 + _MARGIN)


def _epsilon(mu: float, delta: float, mean_trials: float) -> float:
    if not 0.0 < mu < math.inf or not MIN_DELTA <= delta < 1.0:
        return math.inf
    return composed_epsilon(0.0, ((mu, mean_trials),), delta)


@lru_cache(maxsize=64)
def _trial_mu(budget: Budget, mean_trials: float) -> float:
    # Whoever reads the statement computes the same epsilon, perhaps with another last digit.
    target = budget.epsilon * (1.0 - _MARGIN)

    def excess(log_mu: float) -> float:
        return _epsilon(math.exp(log_mu), budget.delta, mean_trials) - target

    upper = math.log(budget.mu)
    lower = upper - 1.0
    while excess(lower) > 0.0:
        lower -= 1.0
        if lower < math.log(1e-9):
            raise BudgetInvalid(f"{budget} is too small to choose between trials; raise epsilon")
    mu, step = math.exp(float(brentq(excess, lower, upper, xtol=1e-9))), 1e-9
    while _epsilon(mu, budget.delta, mean_trials) > target:
        mu, step = mu * (1.0 - step), 2.0 * step
    return mu
