"""A report: all that the page shows, as numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.model import Model, Recommendations
from discreet.model.item_weights import ItemWeights
from discreet.reports.quality import Quality, quality_of
from discreet.statements import Document, write_document
from discreet.types import Floats

__all__ = ["Knowledge", "Report", "TableFacts", "knowledge_of", "make_report", "neighbours_of", "table_facts"]

_GROUPS = (
    ("the most popular tenth", 0.0, 0.1),
    ("the next four tenths", 0.1, 0.5),
    ("the other half", 0.5, 1.0),
)
_SHOWN_ITEMS, _NEIGHBOURS = 8, 5


@dataclass(frozen=True)
class Knowledge:
    """Signal against noise, of a model that says how sure it is of each item.

    ``learnt`` is the share of what could be learnt of each item that was, the best known first; ``groups`` have a name,
    a number of items and their mean share, from head to tail.
    """

    learnt: Floats
    known: int
    unknown: int
    added: int
    groups: tuple[tuple[str, int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        groups = [{"name": name, "items": items, "learnt": learnt} for name, items, learnt in self.groups]
        counts = {"known": self.known, "unknown": self.unknown, "added": self.added}
        return counts | {"mean_learnt": float(self.learnt.mean()), "groups": groups}


@dataclass(frozen=True)
class TableFacts:
    """What a table of weights speaks of: items that have some, and others that keep their place by popularity alone.

    ``noise`` is its standard deviation in each pair, where a person adds at most 1 to all pairs together.
    """

    items: int
    others: int
    weights: int
    noise: float


@dataclass(frozen=True)
class Report:
    """A model's statement, what it knows, what is like what, and how good it is on the holder's ratings."""

    document: Document
    model: Model
    knowledge: Knowledge | None
    table: TableFacts | None
    neighbours: dict[int | str, Recommendations]
    quality: Quality | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what depends on the holder's ratings is under ``holder``."""
        side, titles = self.model.item_side, self.model.catalogue.titles
        return {
            "statement": self.document.to_dict(),
            "goal": self.model.goal,
            "items": side.n_items,
            "rank": side.rank,
            "releases": [
                {"name": one.name, "mu": one.mu, "epsilon": one.epsilon, "share": one.share}
                for one in self.document.statement.releases
            ],
            "knowledge": None if self.knowledge is None else self.knowledge.to_dict(),
            "table": None if self.table is None else asdict(self.table),
            "neighbours": [
                {
                    "item": item,
                    "title": titles.get(item),
                    "neighbours": [
                        {
                            "item": one.item,
                            "title": one.title,
                            "similarity": one.score,
                            "deviation": one.deviation,
                        }
                        for one in others
                    ],
                }
                for item, others in self.neighbours.items()
            ],
            "holder": None if self.quality is None else {"quality": self.quality.to_dict()},
        }


def make_report(directory: str | Path, history: Ratings | None = None, test: Ratings | None = None) -> Report:
    """The report of a saved model; with test ratings, and what their users did before, also its quality."""
    model = Model.load(directory)
    quality = quality_of(model, history, test) if history is not None and test is not None else None
    about = knowledge_of(model), table_facts(model), neighbours_of(model)
    return Report(write_document(directory), model, *about, quality)


def table_facts(model: Model) -> TableFacts | None:
    """``None`` for a model of factors."""
    side = model.item_side
    if not isinstance(side, ItemWeights):
        return None
    items = int(side.known.sum())
    return TableFacts(items, side.n_items - items, len(side.weights), side.noise)


def knowledge_of(model: Model) -> Knowledge | None:
    """``None`` for a model that does not say how sure it is."""
    side = model.item_side
    if isinstance(side, ItemWeights) or side.noise_ratio is None:
        return None
    learnt = (1.0 - side.noise_ratio)[side.best_known]
    count, unknown, added = len(learnt), int(side.unknown.sum()), int(side.added.sum())
    parts = [(name, learnt[round(start * count) : round(end * count)]) for name, start, end in _GROUPS]
    groups = tuple((name, len(part), float(part.mean())) for name, part in parts if len(part))
    return Knowledge(learnt, count - unknown - added, unknown, added, groups)


def neighbours_of(model: Model) -> dict[int | str, Recommendations]:
    """Of the most popular items of which something is known; none where everybody's list is the same."""
    side, order = model.item_side, model.item_side.best_known
    if not isinstance(side, ItemWeights) and side.rank == 0:
        return {}
    there = side.known if isinstance(side, ItemWeights) else side.known & np.any(side.factors, axis=1)
    shown = model.catalogue.ids[order[there[order]][:_SHOWN_ITEMS]].tolist()
    found = {item: model.similar(item, _NEIGHBOURS) for item in shown}
    return {
        item: Recommendations(tuple(one for one in others if one.score > 0.0), len(others))
        for item, others in found.items()
    }
