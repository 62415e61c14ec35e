"""How far lists lean on people's own taste rather than on what everybody takes (clicks). Public: sees releases only.

A person's ridge holds their vector near zero, and their list near the order by popularity. How strong it should be
depends on how much taste there is, how much of it was found and how few clicks a person has, and no rule that was tried
tells it on all data. So the people in the data are asked: each holds back a fifth of their own items, makes a list from
the others under each of a few ridges, and says under which of them the list brings back most; or whether the order by
popularity does, which is the same for everybody. Everybody has one vote, so this costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.budgeted.public.plan import Activity
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.preferences import NoisyPreferences
from discreet.types import Floats

__all__ = ["CLICK_PENALTY", "RIDGES", "Vote", "candidates", "led", "vote_on"]

CLICK_PENALTY = 0.05
"""Users' ridge for clicks in the rounds, in units of the gravity."""
RIDGES = (1 / 3, 1.0, 3.0, 9.0, 27.0)
"""Ridges to choose from, in units of that; beside them there is popularity alone."""
_USUAL = RIDGES.index(1.0)
# People to ask: more of them hardly say more, and a list takes time, for each item that may be in it.
_FEWEST_ASKED, _MOST_ASKED = 3_000.0, 8_000.0
_MOST_PAIRS = 5e7
# Noise to aim at, and the most of it that is worth asking, in people asked; and the most of mu^2 to spend on it.
_NOISE, _MOST_NOISE = 0.0025, 0.03
_MOST_SHARE = 0.03
# Standard deviations by which another candidate must win over the usual ridge.
_CLEAR = 2.0


@dataclass(frozen=True)
class Vote:
    """What asking costs and who is asked.

    Parameters
    ----------
    cost
        Share of mu^2.
    asked
        Share of the users.
    """

    cost: float
    asked: float


def vote_on(activity: Activity, n_items: int, mu: float) -> Vote | None:
    """Whether to ask, and for how much of what is left; ``None`` where noise would decide."""
    people = min(max(_MOST_PAIRS / n_items, _FEWEST_ASKED), _MOST_ASKED, activity.users)
    asked = people / activity.users
    cost = min(float(np.square(1.0 / (_NOISE * people * mu))), _MOST_SHARE)
    if 1.0 / (mu * np.sqrt(cost)) > _MOST_NOISE * people:
        return None
    return Vote(cost, asked)


def led(side: ItemSide, popular: ItemSide | None, found: NoisyPreferences) -> ItemSide:
    """The item side that people prefer; under the usual ridge where nothing else clearly wins.

    Parameters
    ----------
    side, popular
        After the rounds, and without factors where that may be chosen.
    found
        Votes for `candidates`, and for ``popular``.
    """
    best = int(np.argmax(found.totals))
    lead = float(found.totals[best] - found.totals[_USUAL])
    if not lead > _CLEAR * np.sqrt(2.0) * found.sigma:
        return side
    if popular is not None and best == len(RIDGES):
        return popular
    ridge = float(candidates(side.clicks.factor_penalty)[best])
    return replace(side, rule=replace(side.clicks, factor_penalty=ridge))


def candidates(usual: float) -> Floats:
    """Ridges to choose from, where the rounds had ``usual``."""
    return usual * np.array(RIDGES)
