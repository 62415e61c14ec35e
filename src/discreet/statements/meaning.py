"""What a promise means: the best attacker's success, as numbers.

An attacker tells two neighbouring data sets apart from everything that was released, knowing all other users. The
proof note is ``proofs/trade_off.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from discreet.errors import BudgetInvalid, ModelInvalid
from discreet.privacy.statement import Statement

__all__ = ["FALSE_ALARMS", "Attack", "Composed", "Least", "Meaning", "meaning_of", "trade_off"]

FALSE_ALARMS = (0.01, 0.05)
"""Rates at which the attacker is shown."""

# Any set of deltas gives a valid bound on a selection; more of them no better one within a tenth of a per cent.
_DELTAS = tuple(10.0 ** (-k / 4.0) for k in range(1, 49))
_CURVE = tuple(step / 100 for step in range(101))


@dataclass(frozen=True)
class Attack:
    """The best attacker at one false alarm rate: how many they find, and how sure an alarm is at even odds."""

    false_alarms: float
    detected: float
    alarm_right: float


@dataclass(frozen=True)
class Meaning:
    """Upper bounds that hold for every attacker.

    ``attacks`` are at the rates of `FALSE_ALARMS`, ``curve`` at 0, 1, ..., 100 % false alarms; ``right_guess`` is the
    chance to guess right where both cases are equally likely beforehand.
    """

    attacks: tuple[Attack, ...]
    right_guess: float
    follows_from: str
    curve: tuple[float, ...]


def meaning_of(statement: Statement) -> Meaning | None:
    """What an attacker can reach at most; None where nothing is promised."""
    if not statement.private:
        return None
    bound = trade_off(statement)
    attacks = []
    for rate in FALSE_ALARMS:
        power = bound.power(rate)
        attacks.append(Attack(rate, power, power / (power + rate)))
    return Meaning(
        attacks=tuple(attacks),
        right_guess=bound.right_guess(),
        follows_from=_follows_from(statement),
        curve=tuple(bound.power(rate) for rate in _CURVE),
    )


def _follows_from(statement: Statement) -> str:
    cost = statement.cost
    if cost.nothing:
        return "that nothing computed from ratings was released"
    if cost.selections:
        return "the Rényi bound on the whole selection; the truth may be better"
    if cost.pure and (cost.mu or cost.delta):
        return "epsilon and delta alone; the truth may be better"
    if cost.pure:
        return "epsilon alone, without any delta"
    if cost.delta:
        return "mu, and the part of delta that was spent directly"
    return "mu, exactly"


@dataclass(frozen=True)
class Composed:
    """Gaussian releases of cost ``mu``, others of ``epsilon`` without delta, and ``delta`` spent directly.

    Without a mu it is also what follows from epsilon and delta alone.
    """

    mu: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0

    def power(self, false_alarms: float) -> float:
        """Largest chance that an alarm is raised where it is due, at this chance of one where it is not.

        Exactly ``Phi(Phi^-1(alpha) + mu)`` where there is nothing but mu.
        """
        alpha = _rate(false_alarms)
        if self.delta > 0.0:
            alpha = min(1.0, alpha / (1.0 - self.delta))
        growth = _exp(self.epsilon)
        power = min(self._gaussian(min(1.0, growth * alpha)), 1.0 - (1.0 - self._gaussian(alpha)) / growth)
        return min(1.0, self.delta + (1.0 - self.delta) * power)

    def right_guess(self) -> float:
        """Largest chance to guess right between two data sets that are equally likely beforehand.

        ``Phi(mu / 2)`` where there is nothing but mu.
        """
        alike = 2.0 * float(ndtr(-self.mu / 2.0)) * (1.0 - math.tanh(self.epsilon / 2.0)) * (1.0 - self.delta)
        return 1.0 - alike / 2.0

    def _gaussian(self, alpha: float) -> float:
        # Where mu is 0 the two functions cancel, but not to the last bit.
        return float(ndtr(ndtri(alpha) + self.mu)) if self.mu > 0.0 and alpha > 0.0 else alpha


@dataclass(frozen=True)
class Least:
    """The smallest of several bounds that all hold."""

    bounds: tuple[Composed, ...]

    def power(self, false_alarms: float) -> float:
        """The least of theirs."""
        return min(bound.power(false_alarms) for bound in self.bounds)

    def right_guess(self) -> float:
        """The least of theirs."""
        return min(bound.right_guess() for bound in self.bounds)


def trade_off(statement: Statement) -> Composed | Least:
    """The bound on attackers that follows from a statement."""
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
