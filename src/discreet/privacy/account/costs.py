"""What several runs on the same data cost together. Proof note: ``privacy/proofs/ledger.md``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from scipy.special import expit, ndtri

from discreet.privacy.accounting import MIN_DELTA, compose, delta_from, epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.selection import composed_epsilon

__all__ = ["Cost", "Price", "Selected", "mu_of_pure", "shared_delta"]


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

    Parameters
    ----------
    mu, delta
        Of all Gaussian releases: composed, and what they take from delta directly.
    pure
        Epsilon of each purely private run.
    selections
        Of each tuned run.
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


class Price(BaseModel):
    """What a run reserves, or one charge costs.

    ``gaussian``: ``mu``, and ``delta`` taken directly. ``pure``: ``epsilon``. ``approximate``: ``epsilon`` and
    ``delta``, and nothing else is known. ``selection``: ``mu`` of any one trial and their mean number, and the
    ``epsilon`` and ``delta`` that the whole satisfies.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

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
