"""Small models with known arrays, for the tests of everything that takes a model."""

from __future__ import annotations

import numpy as np

from discreet.catalogue import Catalogue, RatingScale
from discreet.model import Model
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.statement import Statement

STATEMENT = Statement.not_private("made by hand for a test")


def make_model(feedback: str, items: int = 12, rank: int = 3, seed: int = 0) -> Model:
    """A model with random arrays."""
    rng = np.random.default_rng(seed)
    explicit = feedback == "explicit"
    side = ItemSide(
        scale=RatingScale((1.0, 5.0) if explicit else None),
        centre=3.0 if explicit else 0.0,
        offsets=rng.normal(0, 0.4, items),
        factors=rng.normal(0, 0.6, (items, rank)),
        rule=Ridge() if explicit else Clicks(gravity=0.1),
    )
    ids: list[int] | list[str] = (
        [f"item-{j}" for j in range(items)] if explicit else [10 * j for j in range(items)]
    )
    titles = {"item-3": "Third of its kind"} if explicit and items > 3 else None
    return Model(side, Catalogue(ids, titles), STATEMENT, "by hand", {"rank": rank})
