"""Distinct items for every user, drawn from a generator.

The loops use nothing but arithmetic: sorting or searching inside them would cost more time to compile than the whole
draw takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.compile import kernel
from discreet.types import Floats, Ints

__all__ = ["draw_rejecting", "draw_uniform"]


def draw_uniform(rng: np.random.Generator, indptr: Ints, n_items: int) -> NDArray[np.int32]:
    """For every user, distinct items in random order, each set equally likely."""
    items = np.empty(indptr[-1], dtype=np.int32)
    _shuffle(rng, indptr, np.arange(n_items, dtype=np.int32), items)
    return items


def draw_rejecting(
    rng: np.random.Generator,
    indptr: Ints,
    share: Floats,
    other: Ints,
    tastes: Floats,
    traits: Floats,
    lift: float,
) -> tuple[NDArray[np.int32], Ints]:
    """For every user, distinct items from an alias table, kept with a chance that rises with taste.

    Returns
    -------
    items, filled
        The items, and where each user's end: short of the next user's where somebody kept hitting what was drawn.
    """
    n_users, n_items = len(indptr) - 1, len(share)
    items = np.empty(indptr[-1], dtype=np.int32)
    filled = np.empty(n_users, dtype=np.int64)
    taken = np.full(n_items, -1, dtype=np.int64)
    _reject(rng, indptr, share, other, tastes, traits, lift, taken, items, filled)
    return items, filled


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
