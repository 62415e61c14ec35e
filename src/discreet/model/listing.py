"""By what a list is ordered: the prediction, or what a recommendation can be expected to bring."""

from __future__ import annotations

import numpy as np

from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide
from discreet.model.recommendations import NOTHING_LEARNT
from discreet.types import Floats

__all__ = ["BY_POPULARITY", "drowned", "listed_by_popularity", "order_of", "order_terms"]

BY_POPULARITY = (
    "items are in the order of popularity times predicted rating above the lowest, not of the ratings shown"
)
"""What is said with every list that is not in the order of its predictions."""

# Devices are asked for popularity before anything else, and their lists are what it was paid for.
_METHODS = frozenset({"devices"})


def listed_by_popularity(item_side: AnySide, method: str) -> bool:
    """Whether a model of this method orders items by popularity and predictions together."""
    return (
        method in _METHODS
        and isinstance(item_side, ItemSide)
        and item_side.popularity is not None
        and item_side.goal == "rate"
    )


def order_of(item_side: ItemSide) -> str:
    """What is said of a list that popularity has a part in."""
    return NOTHING_LEARNT if drowned(item_side) else BY_POPULARITY


def order_terms(item_side: ItemSide, by_popularity: bool) -> tuple[Floats, Floats]:
    """Items x (1 + rank) and one number an item: what orders a list is coefficients . row + number.

    By popularity it is the same as on a device (``discreet/devices/device/recommend.py``): popularity times the
    predicted rating above the lowest one, the person's own offset aside.
    """
    if not by_popularity or item_side.popularity is None:
        return item_side.design(), item_side.offsets + item_side.centre
    popularity = item_side.popularity
    rows = np.column_stack([np.zeros(item_side.n_items), popularity[:, None] * item_side.factors])
    return rows, popularity * (item_side.centre - item_side.scale.bounds[0] + item_side.offsets)


def drowned(item_side: ItemSide) -> bool:
    """Whether nothing could be told of popularity: it is the same for all items, and there are no lists by it."""
    popularity = item_side.popularity
    return popularity is not None and len(popularity) > 1 and bool(popularity.min() == popularity.max())
