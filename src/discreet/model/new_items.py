"""Items that a model was not trained on: what is said of them is guessed from their features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.catalogue import Catalogue
from discreet.errors import CatalogueInvalid, ModelInvalid
from discreet.model.item_weights import AnySide, ItemWeights

__all__ = ["add_items", "check_features"]


def add_items(
    side: AnySide,
    catalogue: Catalogue,
    ids: Iterable[Any],
    columns: Any,
    titles: Mapping[Any, str] | None = None,
) -> tuple[AnySide, Catalogue]:
    """Both with new items at the end; see `discreet.model.Model.with_items`."""
    encoder = catalogue.feature_encoder
    if encoder is None or not _reads_features(side):
        raise ModelInvalid(
            "this model was trained without item features, so it can say nothing about items that it has not seen; "
            "train it with --features (in Python, with a catalogue that has features)"
        )
    both = catalogue.extended(ids, titles)
    features, count = encoder.encode(columns), len(both) - len(catalogue)
    if features.shape[0] != count:
        raise CatalogueInvalid(f"there are features of {features.shape[0]} new items, and ids of {count}")
    if not count:
        return side, both
    if isinstance(side, ItemWeights):
        return side.with_items(features), both
    feature_map, doubt = side.feature_map, side.doubt
    assert feature_map is not None
    assert doubt is not None
    guessed = feature_map.guess(features)
    popularity = side.popularity
    if popularity is not None:  # nobody was seen to take them
        popularity = np.concatenate([popularity, np.zeros(count)])
    longer = replace(
        side,
        offsets=np.concatenate([side.offsets, guessed[:, 0]]),
        factors=np.concatenate([side.factors, guessed[:, 1:]]),
        popularity=popularity,
        doubt=doubt.with_guesses(count, feature_map.noise_ratio),
    )
    return longer, both


def _reads_features(side: AnySide) -> bool:
    if isinstance(side, ItemWeights):
        return side.likeness is not None
    return side.feature_map is not None and side.doubt is not None


def check_features(side: AnySide, catalogue: Catalogue) -> None:
    """Refuse a feature map that is for other columns than the catalogue's encoder makes.

    Raises
    ------
    ModelInvalid
        With both numbers.
    """
    encoder = catalogue.feature_encoder
    if encoder is None:
        return
    if isinstance(side, ItemWeights):
        rows = None if side.likeness is None else len(side.likeness.roots)
    else:
        rows = None if side.feature_map is None else len(side.feature_map.weights)
    made = len(encoder.group_of)
    if rows is not None and rows != made:
        raise ModelInvalid(
            f"the model is for {rows} columns of features, and the catalogue's encoder makes {made}"
        )
