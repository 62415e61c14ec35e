"""What a number of further runs would come to, and what fits under a cap. Proof note: ``privacy/proofs/ledger.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import BudgetInvalid
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Cost
from discreet.privacy.selection import budget_for

__all__ = ["Plan"]

_MOST_RUNS = 1_000_000
# Room for the rounding of every run's own conversion and of their sum.
_SLACK = 1e-11


@dataclass(frozen=True)
class Plan:
    """Some runs of one budget, after those of a ledger.

    Parameters
    ----------
    spent
        What earlier runs cost; those that go on with all they have reserved.
    budget
        Of each further run, whose releases are Gaussian.
    runs
        How many.
    """

    spent: Cost
    budget: Budget
    runs: int

    @property
    def together(self) -> Cost:
        """What the further runs cost by themselves."""
        return _gaussian(self.budget.mu, self.runs)

    @property
    def after(self) -> Cost:
        """What they cost with all before them."""
        return Cost.together([self.spent, self.together])

    def epsilon_each(self, cap: Budget, runs: int) -> float:
        """Largest epsilon at the planned delta that ``runs`` further runs may each have; 0 where there is no room."""
        high = cap.mu
        if not self.spent.within(cap):
            return 0.0
        low = 0.0
        for _ in range(60):
            middle = (low + high) / 2.0
            fits = Cost.together([self.spent, _gaussian(middle, runs)]).within(cap)
            low, high = (middle, high) if fits else (low, middle)
        try:
            return budget_for(low * (1.0 - _SLACK), self.budget.delta).epsilon if low > 0.0 else 0.0
        except BudgetInvalid:
            return 0.0

    def runs_that_fit(self, cap: Budget) -> int:
        """How many further runs of the planned budget the cap has room for, up to a million."""
        low, high = 0, _MOST_RUNS
        while low < high:
            middle = (low + high + 1) // 2
            fits = Cost.together([self.spent, _gaussian(self.budget.mu, middle)]).within(cap)
            low, high = (middle, high) if fits else (low, middle - 1)
        return low


def _gaussian(mu: float, runs: int) -> Cost:
    return Cost(mu=mu * math.sqrt(runs))
