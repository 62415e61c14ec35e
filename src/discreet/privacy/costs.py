"""What several runs on the same people cost together, which runs a model carries, what choosing one of several costs.

**Privacy.** Runs on the same people compose. Whoever was in all of them has given away the sum, so that sum is what a
statement says first; proof notes: ``proofs/accounting.md`` and ``proofs/ledger.md``.

Choosing the best of several private trials: each is one mu-GDP mechanism whose output is a model with its noisy score.
The number of trials is drawn at random and never told, and only the best trial leaves (Papernot and Steinke 2021). Then
the whole costs little more than one trial, however many there were. With a fixed number of trials that is not so. Proof
note: ``proofs/selection.md``.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from discreet.errors import BudgetInvalid
from discreet.privacy.accounting import MIN_DELTA, compose, delta_from, epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.promise import Frozen, RunId

__all__ = [
    "Carried",
    "Cost",
    "EarlierRuns",
    "Price",
    "RunCost",
    "Selected",
    "Selection",
    "budget_for",
    "composed_epsilon",
    "draw_trials",
    "mu_of_pure",
    "shared_delta",
]

# Rényi orders to look at. Any set of them gives a valid bound; this one is within 0.2 % of the best.
_ORDERS = (1.0, *(1.0 + np.geomspace(0.02, 1e6, 200)).tolist())
# Relative, put on every epsilon: far above the rounding of the sums below.
# Nothing that costs more is private in any sense.
_LARGEST_MU = 1e6
_MARGIN = 1e-9
# What a ledger and two conversions may be off by, relative to mu.
_SLACK = 2e-12


class Selection(Frozen):
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


@dataclass(frozen=True, slots=True)
class Selected:
    """A tuned selection: what any one trial costs, their mean number, and what the whole satisfies."""

    mu: float
    mean_trials: float
    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run, or several together, cost a user.

    ``mu`` and ``delta`` are of all Gaussian releases: composed, and what they take from delta directly; ``pure`` is the
    epsilon of each purely private run.
    """

    mu: float = 0.0
    delta: float = 0.0
    pure: tuple[float, ...] = ()
    selections: tuple[Selected, ...] = ()

    @classmethod
    def together(cls, costs: Iterable[Cost]) -> Cost:
        """The cost of all of them on the same users."""
        known = list(costs)
        return cls(
            compose(cost.mu for cost in known),
            math.fsum(cost.delta for cost in known),
            tuple(epsilon for cost in known for epsilon in cost.pure),
            tuple(one for cost in known for one in cost.selections),
        )

    @property
    def nothing(self) -> bool:
        """Whether it costs nothing."""
        return self == Cost()

    @property
    def gaussian_mu(self) -> float | None:
        """Gaussian cost of the whole, pure runs included; ``None`` where there was a selection, which has none."""
        return None if self.selections else compose([self.mu, *map(mu_of_pure, self.pure)])

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon that is proved for the whole at ``delta``, rounded up; infinite where there is none."""
        return 0.0 if self.nothing else min(self._bounds(float(delta)))

    def within(self, cap: Budget) -> bool:
        """Whether the whole satisfies the cap's epsilon and delta."""
        return self.covered_by(cap.epsilon, cap.delta)

    def covered_by(self, epsilon: float, delta: float) -> bool:
        """Whether the whole satisfies this epsilon and delta."""
        if self.epsilon(delta) <= epsilon:
            return True
        # The search for epsilon ends a last digit above a budget that is used up whole; its delta tells exactly.
        left = epsilon - math.fsum([*self.pure, *(one.epsilon for one in self.selections)])
        direct = math.fsum([self.delta, *(one.delta for one in self.selections)])
        return left >= 0.0 and delta_from(self.mu, left) + direct <= delta

    def _bounds(self, delta: float) -> Iterator[float]:
        selected = math.fsum(one.epsilon for one in self.selections)
        direct = math.fsum([self.delta, *(one.delta for one in self.selections)])
        pure = math.fsum(self.pure)
        yield pure + selected + _gaussian(self.mu, delta, direct)
        if delta < MIN_DELTA:
            return
        as_gaussian = compose([self.mu, *map(mu_of_pure, self.pure)])
        if self.pure:
            yield selected + _gaussian(as_gaussian, delta, direct)
        rest = delta - self.delta
        if self.selections and rest >= MIN_DELTA:
            trials = tuple((one.mu, one.mean_trials) for one in self.selections)
            rest = math.nextafter(rest, 0.0) if self.delta else rest
            yield pure + composed_epsilon(self.mu, trials, rest)
            if self.pure and math.isfinite(as_gaussian):
                yield composed_epsilon(as_gaussian, trials, rest)


class Price(Frozen):
    """What a run reserves, or one charge costs.

    ``gaussian``: ``mu``, and ``delta`` taken directly. ``pure``: ``epsilon``. ``approximate``: ``epsilon`` and
    ``delta``, and nothing else is known. ``selection``: ``mu`` of any one trial and their mean number, and the
    ``epsilon`` and ``delta`` that the whole satisfies.
    """

    kind: Literal["gaussian", "pure", "approximate", "selection"]
    mu: float = Field(default=0.0, ge=0)
    epsilon: float = Field(default=0.0, ge=0)
    delta: float = Field(default=0.0, ge=0, lt=1)
    mean_trials: float | None = Field(default=None, gt=1)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        given = (self.mu > 0.0, self.epsilon > 0.0, self.mean_trials is not None)
        needed = {
            "gaussian": (True, False, False),
            "pure": (False, True, False),
            "approximate": (False, True, False),
            "selection": (True, True, True),
        }
        if given != needed[self.kind] or (self.kind == "pure" and self.delta):
            raise ValueError(f"not what a {self.kind} release costs")
        return self

    @property
    def cost(self) -> Cost:
        """As a cost that composes."""
        if self.kind == "gaussian":
            return Cost(mu=self.mu, delta=self.delta)
        if self.kind in ("pure", "approximate"):
            return Cost(pure=(self.epsilon,), delta=self.delta)
        assert self.mean_trials is not None
        return Cost(selections=(Selected(self.mu, self.mean_trials, self.epsilon, self.delta),))


class RunCost(Frozen):
    """What one earlier run cost: all of it, or the choice of its catalogue alone (``part``).

    ``model`` is the digest of what came out of it, where that is known; ``epsilon`` and ``delta`` what somebody has
    given away who was in this run alone, and ``price`` the same as it composes.
    """

    run: RunId
    part: Literal["run", "catalogue"] = "run"
    model: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    epsilon: float = Field(gt=0)
    delta: float = Field(ge=0, lt=1)
    price: Price

    @property
    def name(self) -> str:
        """In words."""
        run = f"run {self.run[:8]}"
        if self.part == "catalogue":
            return f"the catalogue, found by {run}"
        return run if self.model is None else f"model {self.model[:16]} ({run})"

    @property
    def entry(self) -> str:
        """Its id in the ledger of a data set; a part has one of its own."""
        return self.run if self.part == "run" else f"{int(self.run, 16) ^ 1:032x}"

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        price = self.price
        if price.kind == "selection":
            # What a selection says of itself counts in sums, so it is worked out again.
            assert price.mean_trials is not None
            chosen = Selection(mean_trials=price.mean_trials, score_share=0.5)
            if chosen.epsilon(price.mu, price.delta) > price.epsilon:
                raise ValueError("an earlier selection promises more than its trials allow")
        if not price.cost.covered_by(self.epsilon, self.delta):
            raise ValueError("an earlier run promises more than its price allows")
        return self


class Carried(Frozen):
    """Earlier runs; ``fault`` says why one of them is not private, and then nothing that carries it is."""

    runs: tuple[RunCost, ...] = ()
    fault: str | None = Field(default=None, min_length=1)

    @classmethod
    def together(cls, carried: Iterable[Carried | None]) -> Carried:
        """All of them, each run once: a whole run covers what its catalogue cost."""
        known = [one for one in carried if one is not None]
        runs: dict[str, RunCost] = {}
        for run in (run for one in known for run in one.runs):
            if run.run not in runs or runs[run.run].part == "catalogue":
                runs[run.run] = run
        return cls(
            runs=tuple(runs.values()),
            fault=next((one.fault for one in known if one.fault is not None), None),
        )


class EarlierRuns(Frozen):
    """Runs on the same data that were in the ledger when this one began, and what all of them come to.

    ``runs`` is how many earlier ones cost something; ``epsilon`` is with this one, both at ``delta``. Runs of other
    groups, which the holder has declared to be disjoint, are not counted. ``head`` is the hash of the record by which
    this run was entered: with it, ``discreet ledger verify --head`` finds a ledger that was set back and has forgotten
    this run or one before it.
    """

    ledger: str = Field(min_length=1)
    group: str | None = None
    runs: int = Field(ge=0)
    earlier_epsilon: float = Field(ge=0)
    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)
    cap_epsilon: float | None = Field(default=None, gt=0)
    cap_delta: float | None = Field(default=None, gt=0, lt=1)
    head: str = Field(pattern=r"^[0-9a-f]{64}$")

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.epsilon < self.earlier_epsilon:
            raise ValueError("all runs together cannot cost less than the earlier ones")
        return self


def shared_delta(deltas: Iterable[float], direct: float) -> float:
    """The delta to state a sum at: the largest of its parts', or their sum where direct deltas use that one up."""
    known = list(deltas)
    largest = max(known, default=0.0)
    return largest if 2.0 * direct <= largest else min(math.fsum(known), math.nextafter(1.0, 0.0))


def mu_of_pure(epsilon: float) -> float:
    """Gaussian cost that bounds any purely epsilon-private mechanism, rounded up."""
    return -2.0 * float(ndtri(expit(-float(epsilon)))) * (1.0 + 1e-12) + 1e-15


def _gaussian(mu: float, delta: float, direct: float) -> float:
    """Epsilon of Gaussian releases within what other events leave of delta."""
    if mu == 0.0:
        return 0.0 if direct <= delta else math.inf
    return epsilon_from(mu, delta, direct) if delta >= MIN_DELTA else math.inf
