"""A model of ours as one of RecTools' (RecTools 0.12 and later).

model = DiscreetModel(discreet.Model.load("model/"))
model.recommend(users, dataset, k=10, filter_viewed=True)

It comes trained: ``fit`` looks at nothing. The data set gives the histories that people are folded in from. What may be
recommended is the model's catalogue, or ``items_to_recommend``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from rectools import Columns
from rectools.dataset import Dataset
from rectools.models.base import ModelBase

from discreet.data.ratings import Ratings
from discreet.ecosystem.frames import histories
from discreet.model import Model

__all__ = ["DiscreetModel"]

Triplet = tuple[np.ndarray, np.ndarray, np.ndarray]


class DiscreetModel(ModelBase):  # type: ignore[misc]
    """Recommends for users of a RecTools data set, for strangers, and items like an item.

    **Privacy**. The items of a data set are those that somebody in it met. A list of these for a stranger would tell
    that the only user who met a rare item is there; so lists are of the public catalogue, whatever the data set holds.
    """

    recommends_for_warm: ClassVar[bool] = True
    recommends_for_cold: ClassVar[bool] = True

    def __init__(self, model: Model, verbose: int = 0) -> None:
        super().__init__(verbose=verbose)
        self.model, self.is_fitted = model, True

    def _fit(self, dataset: Dataset, *args: Any, **kwargs: Any) -> None:
        """Nothing: the model is trained, and training again would cost a budget."""

    def _custom_transform_dataset_u2i(self, dataset: Dataset, *args: Any, **kwargs: Any) -> Dataset:
        return self._over_catalogue(dataset)

    def _custom_transform_dataset_i2i(self, dataset: Dataset, *args: Any, **kwargs: Any) -> Dataset:
        return self._over_catalogue(dataset)

    def _over_catalogue(self, dataset: Dataset) -> Dataset:
        """The same data set, in which every item of the catalogue has a number."""
        items = dataset.item_id_map.add_ids(self.model.catalogue.ids)
        return Dataset(dataset.user_id_map, items, dataset.interactions)

    def _recommend_u2i(
        self, user_ids: np.ndarray, dataset: Dataset, k: int, filter_viewed: bool, sorted_item_ids: Any
    ) -> Triplet:
        rows = self._histories(dataset, user_ids)
        batch = self.model.recommend_batch(
            rows, k, exclude_seen=filter_viewed, allowed=self._allowed(dataset, sorted_item_ids)
        ).drop_nulls("item")
        return (
            batch["user"].to_numpy(),
            dataset.item_id_map.convert_to_internal(batch["item"].to_numpy()),
            batch["score"].to_numpy(),
        )

    def _recommend_cold(
        self, target_ids: np.ndarray, dataset: Dataset, k: int, sorted_item_ids: Any
    ) -> Triplet:
        found = self.model.recommend({}, k, allowed=self._allowed(dataset, sorted_item_ids))
        items = dataset.item_id_map.convert_to_internal(found.items)
        scores = np.array([entry.score for entry in found])
        return (
            np.repeat(target_ids, len(items)),
            np.tile(items, len(target_ids)),
            np.tile(scores, len(target_ids)),
        )

    def _recommend_i2i(
        self, target_ids: np.ndarray, dataset: Dataset, k: int, sorted_item_ids: Any
    ) -> Triplet:
        allowed = set(self._allowed(dataset, sorted_item_ids))
        rows: list[tuple[int, Any, float]] = []
        for target in target_ids.tolist():
            name = dataset.item_id_map.convert_to_external([target])[0]
            alike = self.model.similar(name, len(self.model.catalogue))
            rows += [(target, one.item, one.score) for one in alike if one.item in allowed][:k]
        targets, items, scores = zip(*rows, strict=True) if rows else ((), (), ())
        internal = dataset.item_id_map.convert_to_internal(items) if items else np.empty(0, dtype=np.int64)
        return np.array(targets, dtype=np.int64), internal, np.array(scores)

    # Somebody without rows is a stranger; an item that nobody in the data set met is an item like any other.
    _recommend_u2i_warm, _recommend_i2i_warm = _recommend_cold, _recommend_i2i

    def _histories(self, dataset: Dataset, user_ids: np.ndarray) -> Ratings:
        """What the data set says of users, over the model's catalogue; ids are RecTools' own numbers."""
        rows = dataset.interactions.df
        rows = rows[rows[Columns.User].isin(user_ids)]
        frame = {
            "user": rows[Columns.User].to_numpy(),
            "item": dataset.item_id_map.convert_to_external(rows[Columns.Item].to_numpy()),
            "rating": rows[Columns.Weight].to_numpy(),
        }
        return histories(self.model, frame, user="user", item="item", rating="rating").for_users(user_ids)

    def _allowed(self, dataset: Dataset, sorted_item_ids: Any) -> list[Any]:
        """Ids of items that may be recommended: the catalogue, or those that were asked for and the model knows."""
        if sorted_item_ids is None:
            everything: list[Any] = self.model.catalogue.ids.tolist()
            return everything
        names: list[Any] = np.asarray(dataset.item_id_map.convert_to_external(sorted_item_ids)).tolist()
        known = self.model.catalogue.index(names) >= 0
        return [name for name, listed in zip(names, known.tolist(), strict=True) if listed]
