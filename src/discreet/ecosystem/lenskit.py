"""A model of ours as a scorer of a LensKit pipeline (LensKit 2025).

from lenskit.pipeline import RecPipelineBuilder
builder = RecPipelineBuilder()
builder.scorer(DiscreetScorer(model="model/"))
builder.candidate_selector(CatalogueCandidates(model="model/"))
builder.ranker(n=20)
pipeline = builder.build()
pipeline.train(dataset)

Training the pipeline does not touch the model: what it takes from the data set are histories.

**Privacy.** LensKit's own selectors (``topn_pipeline``) take the items of the data set, those that somebody in it met:
a list of these tells a stranger that the only user who met a rare item is there. `CatalogueCandidates` takes the
public catalogue.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from lenskit.data import ItemList, QueryInput, RecQuery
from lenskit.pipeline import Component
from pydantic import BaseModel, ConfigDict

from discreet.model import Model
from discreet.types import Floats

__all__ = ["CandidatesConfig", "CatalogueCandidates", "DiscreetScorer", "ScorerConfig"]


class ScorerConfig(BaseModel):
    """Folder of a saved model, and what it says of an item: its place in lists, or a predicted rating."""

    model_config = ConfigDict(extra="forbid")

    model: str
    scores: Literal["order", "rating"] = "order"


class DiscreetScorer(Component[ItemList]):  # type: ignore[misc]
    """Scores items for the owner of a history, as `discreet.Model` does."""

    config: ScorerConfig

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """Items with their scores; one that the model does not know has none (NaN)."""
        model = self._model()
        positions = model.catalogue.index(items.ids())
        known = positions >= 0
        scores = np.full(len(items), np.nan)
        scores[known] = self._scores(model, RecQuery.create(query).history_items, positions[known])
        return ItemList(items, scores=scores)

    def _model(self) -> Model:
        if "_loaded" not in vars(self):
            self._loaded = Model.load(self.config.model)
        return self._loaded

    def _scores(self, model: Model, history: ItemList | None, positions: np.ndarray) -> Floats:
        side, nobody = model.item_side, np.zeros(len(positions), dtype=np.int64)
        taken, values = _history(model, history)
        coefficients: Any = side.fold_in(np.array([0, len(taken)]), taken, values)
        order, predicted = side.score_pairs(coefficients, nobody, positions)
        return predicted if self.config.scores == "rating" else order


class CandidatesConfig(BaseModel):
    """Folder of a saved model, and whether items of the history are left out."""

    model_config = ConfigDict(extra="forbid")

    model: str
    exclude_seen: bool = True


class CatalogueCandidates(Component[ItemList]):  # type: ignore[misc]
    """Items of the model's public catalogue, without those of the query's own history."""

    config: CandidatesConfig

    def __call__(self, query: QueryInput) -> ItemList:
        """All that may be recommended to whom the query is about."""
        if "_catalogue" not in vars(self):
            self._catalogue = Model.load(self.config.model).catalogue
        kept = np.ones(len(self._catalogue), dtype=bool)
        history = RecQuery.create(query).history_items
        if self.config.exclude_seen and history is not None and len(history):
            places = self._catalogue.index(history.ids())
            kept[places[places >= 0]] = False
        return ItemList(self._catalogue.ids[kept])


def _history(model: Model, history: ItemList | None) -> tuple[np.ndarray, Floats]:
    """Positions and values of a history, by position; items that the model does not know are left out."""
    if history is None or not len(history):
        return np.empty(0, dtype=np.int32), np.empty(0)
    places = model.catalogue.index(history.ids())
    ratings = history.field("rating") if model.item_side.scale.explicit else None
    values = np.ones(len(places)) if ratings is None else np.asarray(ratings, dtype=np.float64)
    order = np.argsort(places, kind="stable")
    order = order[places[order] >= 0]
    return places[order].astype(np.int32), values[order]
