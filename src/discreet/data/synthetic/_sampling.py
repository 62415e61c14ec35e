"""Drawing distinct items for every user in time proportional to what is drawn, never users times items."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["alias_table", "draw_uniform", "draw_weighted"]

Floats = npt.NDArray[np.float64]


@njit(cache=True)  # type: ignore[untyped-decorator]
def draw_uniform(rng: Any, indptr: Any, n_items: int) -> Any:
    """For every user, distinct items in random order, each set equally likely.

    A partial Fisher-Yates shuffle of one list that is never put back in order: any start is as good as
    another.
    """
    items = np.empty(indptr[-1], np.int32)
    deck = np.arange(n_items).astype(np.int32)
    for user in range(len(indptr) - 1):
        start = indptr[user]
        for place in range(indptr[user + 1] - start):
            other = place + int(rng.random() * (n_items - place))
            deck[place], deck[other] = deck[other], deck[place]
            items[start + place] = deck[place]
    return items


@njit(cache=True)  # type: ignore[untyped-decorator]
def alias_table(weights: Any) -> Any:
    """Walker's table: draw j with probability proportional to its weight from one uniform number."""
    size = len(weights)
    share = weights * (size / weights.sum())
    other = np.arange(size)
    small = np.flatnonzero(share < 1.0)
    large = np.flatnonzero(share >= 1.0)
    n_small, n_large = len(small), len(large)
    stack = np.empty(size, np.int64)
    stack[:n_small] = small
    while n_small > 0 and n_large > 0:
        n_small -= 1
        poor, rich = stack[n_small], large[n_large - 1]
        other[poor] = rich
        share[rich] -= 1.0 - share[poor]
        if share[rich] < 1.0:
            n_large -= 1
            stack[n_small] = rich
            n_small += 1
    return share, other


@njit(cache=True)  # type: ignore[untyped-decorator]
def draw_weighted(rng: Any, indptr: Any, weights: Any, tastes: Any, traits: Any, lift: float) -> Any:
    """For every user, distinct items drawn one after the other, in rising order.

    An item's chance at each draw is proportional to ``weights[j] * exp(lift * clip(tastes[i] . traits[j], -2,
    2))`` among the items not yet drawn. Draws go through an alias table with rejection; a user who hits drawn
    items too often gets the rest from an exponential race over all items, which has the same distribution.
    """
    n_items = len(weights)
    share, other = alias_table(weights)
    items = np.empty(indptr[-1], np.int32)
    taken = np.full(n_items, -1, np.int64)
    keys = np.empty(n_items)
    for user in range(len(indptr) - 1):
        end = indptr[user + 1]
        place = indptr[user]
        patience = n_items + 8 * (end - place)
        while place < end and patience > 0:
            patience -= 1
            where = rng.random() * n_items
            item = int(where)
            if where - item >= share[item]:
                item = other[item]
            if taken[item] == user:
                continue
            if rng.random() < np.exp(lift * (_taste(tastes[user], traits[item]) - 2.0)):
                taken[item] = user
                items[place] = item
                place += 1
        if place < end:
            for item in range(n_items):
                pull = weights[item] * np.exp(lift * _taste(tastes[user], traits[item]))
                keys[item] = np.inf if taken[item] == user else rng.standard_exponential() / pull
            for item in np.argsort(keys)[: end - place]:
                items[place] = item
                place += 1
        items[indptr[user] : end].sort()
    return items


@njit(cache=True)  # type: ignore[untyped-decorator]
def _taste(user: Any, item: Any) -> Any:
    total = 0.0
    for factor in range(len(user)):
        total += user[factor] * item[factor]
    return min(max(total, -2.0), 2.0)
