"""How much of the second half of the rounds to keep for offsets alone. Public: sees releases only.

A round asks for 1 + rank numbers of each item with the same noise in each. Where taste is strong that is right. Where
items are many and their ratings few, an offset varies by more than any factor does, and noise in it costs more. So the
rest of the budget is divided, half-way, between the rounds and a last release of offsets alone, which at the same cost
has 1 / (1 + rank) of a round's noise variance in them, such that the least error is expected.

Directions of taste are found by power iteration: people's vectors follow the items' factors, and the factors follow the
vectors. Take a direction of power p: the mean square of its factors over what people take, where people vary by 1. Of
the variance of a person's vector it makes up about ``p n / s^2``, the rest is scatter of their n ratings, each of
variance s^2. So it has the variance ``p^2 n / s^2`` in an item's gradients, beside the noise ``1 / known``, and grows
from round to round only above

    threshold = sqrt(s^2 / n / known)
"""

from __future__ import annotations

import math

import numpy as np

from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import State
from discreet.types import Floats

__all__ = ["divided", "missed", "offsets_share", "power_there"]

# Shares to choose from: rounds that have next to nothing would spoil what was found.
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
# The threshold in rounds that are few, of which the first are the noisiest, in units of the one above: measured.
_ROUNDS = 7.0
# Power of a direction of which nothing was found, in units of the threshold.
_HIDDEN = 0.5
# The same threshold without noise, where the scatter of an item's own ratings takes its place.
_WITHOUT_NOISE = 2.0
# The users' ridge after the last round, in units of the squared residual.
_RIDGE = 2.0


def divided(costs: list[float], last: float, state: State, activity: Activity) -> tuple[list[float], float]:
    """Costs of the rounds to come, and of a last release of offsets alone; in squares as much as ``costs`` were.

    Parameters
    ----------
    costs
        Of the rounds to come.
    last
        Of the round before them.
    state
        After that round.
    activity
        How many ratings people have.
    """
    total = math.fsum(cost * cost for cost in costs)
    share = offsets_share(state, total / last**2, activity)
    return [cost * math.sqrt(1.0 - share) for cost in costs], math.sqrt(share * total)


def offsets_share(state: State, rest: float, activity: Activity) -> float:
    """Share of the rest of the budget to ask for offsets alone; 0 where there are no factors to share with.

    Parameters
    ----------
    state
        After a round.
    rest
        The rest of mu^2 in units of that round's.
    activity
        How many ratings people have.

    Notes
    -----
    An offset of variance v among items has ``v / (1 + v known)`` left. What is not found of taste follows from the
    power that directions have in truth.
    """
    heard, known, told, taste = state.offsets, state.known, state.told, state.taste
    square = state.frame.residual**2
    if known is None or told is None or taste is None or not square > 0.0:
        return 0.0
    taken = state.popularity.positive()
    share = taken / taken.sum()
    ratings = activity.ratings * float(share @ share)
    there = power_there(taste, _above_zero(share @ known), ratings, square, activity)
    spread = float(share @ np.square(state.side.offsets - share @ state.side.offsets))
    fresh, order = rest * told, 1 + state.side.rank

    def expected(part: float) -> float:
        alone = heard.known + fresh * (1.0 - part + part * order)
        found = _above_zero(share @ (known + (1.0 - part) * fresh))
        return float(share @ (spread / (1.0 + spread * alone))) + missed(there, found, square, activity)

    return min(_SHARES, key=expected)


def power_there(power: Floats, known: float, ratings: float, square: float, activity: Activity) -> Floats:
    """Power that directions are expected to have in truth, where ``power`` was found.

    With the threshold for a noise, of a true power p a best linear estimate shows ``p^2 / (p + threshold)``; solved for
    p that gives what was there. A direction of which nothing was found may be as strong as half of the threshold, less
    what a run without noise would not show either.
    """
    threshold = _threshold(known, square, activity)
    least = _WITHOUT_NOISE * float(np.sqrt(square / activity.ratings_per_user * square / ratings))
    hidden = _HIDDEN * threshold
    hidden *= max(1.0 - (least / hidden) ** 2, 0.0)
    solved = 0.5 * (power + np.sqrt(power * (power + 4.0 * threshold)))
    there: Floats = np.maximum(solved, hidden)
    return there


def missed(there: Floats, known: float, square: float, activity: Activity) -> float:
    """Variance of scores that is not found of directions of the true power ``there``."""
    found = np.square(there) / np.maximum(
        there + _threshold(known, square, activity), np.finfo(np.float64).tiny
    )
    return float((_in_scores(there, square, activity) - _in_scores(found, square, activity)).sum())


def _threshold(known: float, square: float, activity: Activity) -> float:
    return _ROUNDS * float(np.sqrt(square / activity.ratings_per_user / known))


def _in_scores(power: Floats, square: float, activity: Activity) -> Floats:
    """Variance of people's scores along directions of this power."""
    counts = activity.sizes[:, np.newaxis]
    held = counts * power / (counts * power + _RIDGE * square)
    variance: Floats = activity.shares @ (np.square(held) * (power + square / counts))
    return variance


def _above_zero(known: float) -> float:
    return max(float(known), np.finfo(np.float64).tiny)
