"""What the best attacker can reach under a statement: power at a false alarm rate, and the chance of a right guess.

An attacker tells two neighbouring data sets apart from everything that was released, knowing all other users. The
proof note is ``proofs/trade_off.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from scipy.special import ndtr, ndtri

from discreet.errors import BudgetInvalid, ModelInvalid

if TYPE_CHECKING:
    from discreet.privacy.statement import Statement

__all__ = ["Composed", "Least", "TradeOff", "trade_off"]

# Any set of deltas gives a valid bound on a selection; more of them no better one within a tenth of a per cent.
_DELTAS = tuple(10.0 ** (-k / 4.0) for k in range(1, 49))


class TradeOff(Protocol):
    """An upper bound on every attacker."""

    @property
    def exact(self) -> bool:
        """Whether some mechanism with this cost reaches the bound."""

    def power(self, false_alarms: float) -> float:
        """Largest chance that an alarm is raised where it is due, at this chance of one where it is not."""

    def right_guess(self) -> float:
        """Largest chance to guess right between two data sets that are equally likely beforehand."""


@dataclass(frozen=True)
class Composed:
    """Gaussian releases of cost ``mu``, others of ``epsilon`` without delta, and ``delta`` spent directly.

    Without a mu it is also what follows from epsilon and delta alone.
    """

    mu: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether there is only one kind of cost beside delta: bounds for both kinds together leave a little."""
        return self.mu == 0.0 or self.epsilon == 0.0

    def power(self, false_alarms: float) -> float:
        """As in `TradeOff`; exactly ``Phi(Phi^-1(alpha) + mu)`` where there is nothing but mu."""
        alpha = _rate(false_alarms)
        if self.delta > 0.0:
            alpha = min(1.0, alpha / (1.0 - self.delta))
        growth = _exp(self.epsilon)
        power = min(self._gaussian(min(1.0, growth * alpha)), 1.0 - (1.0 - self._gaussian(alpha)) / growth)
        return min(1.0, self.delta + (1.0 - self.delta) * power)

    def right_guess(self) -> float:
        """As in `TradeOff`: ``Phi(mu / 2)`` where there is nothing but mu."""
        alike = 2.0 * float(ndtr(-self.mu / 2.0)) * (1.0 - math.tanh(self.epsilon / 2.0)) * (1.0 - self.delta)
        return 1.0 - alike / 2.0

    def _gaussian(self, alpha: float) -> float:
        # Where mu is 0 the two functions cancel, but not to the last bit.
        return float(ndtr(ndtri(alpha) + self.mu)) if self.mu > 0.0 and alpha > 0.0 else alpha


@dataclass(frozen=True)
class Least:
    """The smallest of several bounds that all hold."""

    bounds: tuple[Composed, ...]

    @property
    def exact(self) -> bool:
        """Not in general: together they may allow less than any one of them."""
        return False

    def power(self, false_alarms: float) -> float:
        """As in `TradeOff`."""
        return min(bound.power(false_alarms) for bound in self.bounds)

    def right_guess(self) -> float:
        """As in `TradeOff`."""
        return min(bound.right_guess() for bound in self.bounds)


def trade_off(statement: Statement) -> TradeOff:
    """The bound on attackers that follows from a statement.

    Raises
    ------
    ModelInvalid
        For a model that is not private: there is no bound.
    """
    if not statement.private or statement.epsilon is None or statement.delta is None:
        raise ModelInvalid("a model that is not private bounds no attacker")
    known, cost = Composed(epsilon=statement.epsilon, delta=statement.delta), statement.cost
    if cost.selections:
        costs = ((cost.epsilon(delta), delta) for delta in _DELTAS if delta > cost.delta)
        return Least((known, *(Composed(epsilon=epsilon, delta=delta) for epsilon, delta in costs)))
    return Composed(mu=cost.mu, epsilon=math.fsum(cost.pure), delta=cost.delta)


def _exp(epsilon: float) -> float:
    return math.exp(min(epsilon, 700.0))


def _rate(false_alarms: float) -> float:
    if not 0.0 <= false_alarms <= 1.0:
        raise BudgetInvalid(f"a false alarm rate lies between 0 and 1, got {false_alarms}")
    return float(false_alarms)
