"""Neighbours of well-known items, and a map of the items: what factors or a table of weights say, to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.model import Model
from discreet.model.item_weights import ItemWeights
from discreet.model.similarity import compared
from discreet.reports.knowledge import known_first
from discreet.types import Floats, Indices

__all__ = ["ItemMap", "Neighbours", "map_of", "name_of", "neighbours_of"]

_SHOWN_ITEMS, _NEIGHBOURS = 8, 5
_MOST_DOTS, _LABELS = 600, 14


@dataclass(frozen=True)
class Neighbours:
    """An item and what is most like it, with the similarity and, where it is known, its deviation by the noise."""

    item: int | str
    title: str | None
    others: tuple[tuple[int | str, str | None, float, float | None], ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        others = [
            {"item": item, "title": title, "similarity": score, "deviation": deviation}
            for item, title, score, deviation in self.others
        ]
        return {"item": self.item, "title": self.title, "neighbours": others}


@dataclass(frozen=True)
class ItemMap:
    """Two directions in which the known items differ most; the first items are the most popular, and have names.

    ``share`` is how much of what tells the items apart the two directions show, and ``believed`` how far the factors
    of the most popular item are known, from 0 to 1.
    """

    positions: Indices
    places: Floats
    names: tuple[str, ...]
    share: float
    believed: float

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values: the items with names."""
        named = [
            {"name": name, "x": float(x), "y": float(y)}
            for name, (x, y) in zip(self.names, self.places, strict=False)
        ]
        return {"items": len(self.positions), "share": self.share, "believed": self.believed, "named": named}


def name_of(model: Model, position: int) -> tuple[int | str, str | None]:
    """Id and title of an item."""
    one = model.catalogue.ids[position : position + 1].tolist()[0]
    return one, model.catalogue.titles.get(one)


def neighbours_of(model: Model) -> tuple[Neighbours, ...]:
    """Of the most popular items of which something is known; none where everybody's list is the same."""
    found = []
    for position in _directed(model)[:_SHOWN_ITEMS].tolist():
        item, title = name_of(model, position)
        others = tuple(
            (one.item, one.title, one.score, one.deviation)
            for one in model.similar(item, _NEIGHBOURS)
            if one.score > 0.0
        )
        found.append(Neighbours(item, title, others))
    return tuple(found)


def map_of(model: Model) -> ItemMap | None:
    """Principal directions of what items are compared by (their factors, shorter where less is known)."""
    chosen, side = _directed(model), model.item_side
    if isinstance(side, ItemWeights) or side.rank < 2 or len(chosen) < 3:
        return None
    directions = compared(side, int(chosen[0]))
    vectors = directions.others[chosen]
    centred = vectors - vectors.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] * np.sign(axes[:2, [0]] + 1e-300)  # a direction has two signs: always the same one
    shown = chosen[:_MOST_DOTS]
    titles = [name_of(model, position) for position in shown[:_LABELS].tolist()]
    return ItemMap(
        positions=shown,
        places=centred[:_MOST_DOTS] @ axes.T,
        names=tuple(title or str(item) for item, title in titles),
        share=float(np.square(sizes[:2]).sum() / max(float(np.square(sizes).sum()), 1e-300)),
        believed=directions.believed,
    )


def _directed(model: Model) -> Indices:
    """Items with weights, or with factors of which something is known, the most popular first."""
    side, order = model.item_side, known_first(model)
    if isinstance(side, ItemWeights):
        speaks: Indices = order[side.known[order]]
        return speaks
    if side.rank == 0:
        return order[:0]
    chosen: Indices = order[(side.known & np.any(side.factors, axis=1))[order]]
    return chosen
