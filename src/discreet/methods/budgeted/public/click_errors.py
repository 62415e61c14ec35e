"""How far scores of clicks are from those of the same run without noise. Public: sees releases only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.methods.budgeted.public.item_errors import Items, click_variances, left
from discreet.methods.budgeted.public.people import noise_followed, people_along
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import State
from discreet.model.doubt import Doubt
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["of_clicks"]

# Two runs whose moments of users differ take steps of different lengths, and few rounds do not make that good: what
# stays at most, relative to the variance of scores, and the noise of the moment at which half of that stays.
_STEPS_APART = 0.0045
_ROUGH = 0.03
# Part of the share that noise has in items by which the size of all scores is off.
_SIZE = 0.5


def of_clicks(
    doubt: Doubt,
    side: ItemSide,
    state: State,
    items: Items,
    squares: Floats,
    error: Floats,
    activity: Activity,
) -> Doubt:
    """The doubt with errors of clicks.

    What is left of each item, what people's vectors follow of it, steps that went apart, and a gravity that follows
    noise. One number an item says how far its scores are off, so directions count as far as people's vectors reach.

    Parameters
    ----------
    doubt
        With the noise by which items are called unknown.
    side, state, items, activity
        What was released.
    squares
        Items x directions: of the numbers that were learnt.
    error
        Variance of the noise in each item's numbers that is left after the last round.
    """
    assert state.reach is not None
    square = state.frame.residual**2
    along = people_along(side, items.share, square, activity, doubt.directions)
    apart = _STEPS_APART * state.rough**2 / (state.rough**2 + _ROUGH**2)
    unsure = float(items.share @ left(doubt.prior, error, along)) / float(doubt.prior @ along)
    reached, noise = np.square(state.reach), error[:, np.newaxis]
    noise = reached[:, np.newaxis] * doubt.prior * (noise / (doubt.prior + noise))
    followed = noise_followed(side, items.share, square, activity, doubt.directions, noise)
    error = error + apart * float(doubt.prior.mean())
    variances = reached * click_variances(squares, doubt.prior, error, items, square, along) + followed
    reach = np.sqrt(variances / left(doubt.prior, doubt.noise, along))
    return replace(doubt, reach=reach, scale=0.5 * apart + (_SIZE * unsure) ** 2 + state.swing**2)
