"""Items that a model was not trained on: their vectors are guessed from their features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.catalogue import Catalogue
from discreet.errors import CatalogueInvalid, ModelInvalid
from discreet.model.item_side import ItemSide

__all__ = ["add_items", "check_features"]


def add_items(
    side: ItemSide,
    catalogue: Catalogue,
    ids: Iterable[Any],
    columns: Any,
    titles: Mapping[Any, str] | None = None,
) -> tuple[ItemSide, Catalogue]:
    """Both with new items at the end; see `discreet.model.Model.with_items`."""
    encoder, feature_map, doubt = catalogue.feature_encoder, side.feature_map, side.doubt
    if encoder is None or feature_map is None or doubt is None:
        raise ModelInvalid(
            "this model was trained without item features, so it can say nothing about items that it has not seen; "
            "train it with --features (in Python, with a catalogue that has features)"
        )
    both = catalogue.extended(ids, titles)
    features, count = encoder.encode(columns), len(both) - len(catalogue)
    if features.shape[0] != count:
        raise CatalogueInvalid(f"there are features of {features.shape[0]} new items, and ids of {count}")
    guessed = feature_map.guess(features)
    popularity = side.popularity
    if popularity is not None:  # nobody was seen to take them
        popularity = np.concatenate([popularity, np.zeros(count)])
    longer = replace(
        side,
        offsets=np.concatenate([side.offsets, guessed[:, 0]]),
        factors=np.concatenate([side.factors, guessed[:, 1:]]),
        popularity=popularity,
        doubt=doubt.with_guesses(count, feature_map.variance),
    )
    return longer, both


def check_features(side: ItemSide, catalogue: Catalogue) -> None:
    """Refuse a feature map that is for other columns than the catalogue's encoder makes.

    Raises
    ------
    ModelInvalid
        With both numbers.
    """
    encoder = catalogue.feature_encoder
    if side.feature_map is None or encoder is None:
        return
    rows, made = len(side.feature_map.weights), len(encoder.group_of)
    if rows != made:
        raise ModelInvalid(
            f"the feature map is for {rows} columns of features, and the catalogue's encoder makes {made}"
        )
