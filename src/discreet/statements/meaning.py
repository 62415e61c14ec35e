"""What a promise means: the best attacker's success, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy.statement import Statement
from discreet.privacy.trade_off import trade_off

__all__ = ["FALSE_ALARMS", "Attack", "Meaning", "meaning_of"]

FALSE_ALARMS = (0.01, 0.05)
"""Rates at which the attacker is shown."""

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

    Parameters
    ----------
    attacks
        At the rates of `FALSE_ALARMS`.
    right_guess
        Chance to guess right, where both cases are equally likely beforehand.
    follows_from
        The part of the statement that the bounds follow from, in words.
    curve
        Power at 0, 1, ..., 100 % false alarms.
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
