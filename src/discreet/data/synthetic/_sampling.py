"""Drawing distinct items for every user in time proportional to what is drawn, never users times items.

The inner loops are compiled (:mod:`discreet.kernels.draws`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.types import Floats

__all__ = ["draw_uniform", "draw_weighted"]

Pointers = npt.NDArray[np.int64]
Items = npt.NDArray[np.int32]


def draw_uniform(rng: np.random.Generator, indptr: Pointers, n_items: int) -> Items:
    """For every user, distinct items in random order, each set equally likely."""
    return kernels.draw_uniform(rng, indptr, n_items)


def draw_weighted(
    rng: np.random.Generator, indptr: Pointers, weights: Floats, tastes: Floats, traits: Floats, lift: float
) -> Items:
    """For every user, distinct items drawn one after the other; the result rises within each user.

    An item's chance at each draw is proportional to ``weights[j] * exp(lift * t)`` among the items not yet
    drawn, where ``t`` is ``tastes[i] . traits[j]`` clipped to -2 and 2. Draws go through an alias table with
    rejection; a user who keeps hitting what was drawn before gets the rest from a race, which has the same
    distribution.
    """
    n_users, n_items = len(indptr) - 1, len(weights)
    items, filled = kernels.draw_rejecting(rng, indptr, *_alias_table(weights), tastes, traits, lift)
    for user in np.flatnonzero(filled < indptr[1:]):
        pull = weights * np.exp(lift * np.clip(traits @ tastes[user], -2.0, 2.0))
        drawn, end = items[indptr[user] : filled[user]], indptr[user + 1]
        items[filled[user] : end] = _race(rng, pull, drawn, int(end - filled[user]))
    users = np.repeat(np.arange(n_users), np.diff(indptr))
    keys = np.sort(users * n_items + items)
    return (keys - users * n_items).astype(np.int32)


def _race(rng: np.random.Generator, pull: Floats, drawn: Items, count: int) -> npt.NDArray[np.int64]:
    """The first arrivals, when every item not yet drawn comes after an exponential time of rate `pull`."""
    arrival = rng.standard_exponential(len(pull)) / pull
    arrival[drawn] = np.inf
    return np.argsort(arrival)[:count]


def _alias_table(weights: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Walker's table: a uniform column, kept with probability `share` and else exchanged for `other`."""
    share = weights * (len(weights) / weights.sum())
    other = np.arange(len(weights))
    poor, rich = np.flatnonzero(share < 1.0).tolist(), np.flatnonzero(share >= 1.0).tolist()
    while poor and rich:
        low, high = poor.pop(), rich[-1]
        other[low] = high
        share[high] -= 1.0 - share[low]
        if share[high] < 1.0:
            poor.append(rich.pop())
    share[[*poor, *rich]] = 1.0  # what is left differs from 1 by rounding only
    return share, other
