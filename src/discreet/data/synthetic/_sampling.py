"""Drawing distinct items for every user in time proportional to what is drawn, never users times items.

Only the inner loops are compiled, and they use nothing but arithmetic: sorting or searching inside them would
cost more time to compile than the whole draw takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kernels.compile import kernel
from discreet.types import Floats

__all__ = ["draw_uniform", "draw_weighted"]

Pointers = npt.NDArray[np.int64]
Items = npt.NDArray[np.int32]


def draw_uniform(rng: np.random.Generator, indptr: Pointers, n_items: int) -> Items:
    """For every user, distinct items in random order, each set equally likely."""
    items = np.empty(indptr[-1], dtype=np.int32)
    _shuffle(rng, indptr, np.arange(n_items, dtype=np.int32), items)
    return items


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
    items = np.empty(indptr[-1], dtype=np.int32)
    filled = np.empty(n_users, dtype=np.int64)
    taken = np.full(n_items, -1, dtype=np.int64)
    _reject(rng, indptr, *_alias_table(weights), tastes, traits, lift, taken, items, filled)
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


@kernel
def _shuffle(rng: Any, indptr: Any, deck: Any, items: Any) -> None:
    """Fisher-Yates, as far as needed, on one deck never put back in order: any start will do."""
    n_items = len(deck)
    for user in range(len(indptr) - 1):
        start = indptr[user]
        for place in range(indptr[user + 1] - start):
            other = place + int(rng.random() * (n_items - place))
            card = deck[other]
            deck[other] = deck[place]
            deck[place] = card
            items[start + place] = card


@kernel
def _reject(
    rng: Any,
    indptr: Any,
    share: Any,
    other: Any,
    tastes: Any,
    traits: Any,
    lift: Any,
    taken: Any,
    items: Any,
    filled: Any,
) -> None:
    n_items, rank = traits.shape
    for user in range(len(indptr) - 1):
        place, end = indptr[user], indptr[user + 1]
        patience = n_items + 8 * (end - place)
        while place < end and patience > 0:
            patience -= 1
            where = rng.random() * n_items
            item = int(where)
            if where - item >= share[item]:
                item = other[item]
            if taken[item] == user:
                continue
            taste = 0.0
            for factor in range(rank):
                taste += tastes[user, factor] * traits[item, factor]
            if rng.random() < np.exp(lift * (min(max(taste, -2.0), 2.0) - 2.0)):
                taken[item] = user
                items[place] = item
                place += 1
        filled[user] = place
