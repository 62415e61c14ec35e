"""A report: all that the page shows, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.data.ratings import Ratings
from discreet.model import Model
from discreet.reports.items import ItemMap, Neighbours, map_of, neighbours_of
from discreet.reports.knowledge import Knowledge, TableFacts, knowledge_of, table_facts
from discreet.reports.quality import Quality, quality_of
from discreet.statements import Document, write_document

__all__ = ["Report", "make_report"]


@dataclass(frozen=True)
class Report:
    """A model's statement, what it knows, what is like what, and how good it is on the holder's ratings."""

    document: Document
    model: Model
    knowledge: Knowledge | None
    table: TableFacts | None
    neighbours: tuple[Neighbours, ...]
    map: ItemMap | None
    quality: Quality | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what depends on the holder's ratings is under ``holder``."""
        side = self.model.item_side
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
            "table": None if self.table is None else self.table.to_dict(),
            "neighbours": [one.to_dict() for one in self.neighbours],
            "map": None if self.map is None else self.map.to_dict(),
            "holder": None if self.quality is None else {"quality": self.quality.to_dict()},
        }


def make_report(directory: str | Path, history: Ratings | None = None, test: Ratings | None = None) -> Report:
    """The report of a saved model; with test ratings, and what their users did before, also its quality."""
    model = Model.load(directory)
    quality = quality_of(model, history, test) if history is not None and test is not None else None
    return Report(
        document=write_document(directory),
        model=model,
        knowledge=knowledge_of(model),
        table=table_facts(model),
        neighbours=neighbours_of(model),
        map=map_of(model),
        quality=quality,
    )
