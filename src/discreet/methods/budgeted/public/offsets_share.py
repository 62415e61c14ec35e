"""How much of the second half of the rounds to keep for offsets alone (ratings). Public: sees releases only.

A round asks for 1 + rank numbers of each item with the same noise in each. Where taste is strong that is right. Where
items are many and their ratings few, an offset varies by more than any factor does, and noise in it costs more. So the
rest of the budget is divided, half-way, between the rounds and a last release of offsets alone, which at the same cost
has 1 / (1 + rank) of a round's noise variance in them, such that the least error is expected.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import State
from discreet.methods.budgeted.public.unfound import missed, power_there

__all__ = ["divided", "offsets_share"]

# Shares to choose from: rounds that have next to nothing would spoil what was found.
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


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
    power that directions have in truth (:mod:`discreet.methods.budgeted.public.unfound`).
    """
    heard, known, told, taste = state.offsets, state.known, state.told, state.taste
    square = state.frame.residual**2
    if heard is None or known is None or told is None or taste is None or not square > 0.0:
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


def _above_zero(known: float) -> float:
    return max(float(known), np.finfo(np.float64).tiny)
