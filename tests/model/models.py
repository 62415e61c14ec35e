"""Small models with known arrays, for the tests of everything that takes a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.catalogue import Catalogue, RatingScale
from discreet.model import Model
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import FeatureMap, ItemSide
from discreet.model.item_weights import ItemWeights, Sums
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


GENRES = ["Drama", "War", "Drama|War", "Comedy"] * 3
YEARS = [1990, 1995, 2000, None, 2005, 2010] * 2


def make_doubtful(feedback: str, rank: int = 3, seed: int = 0) -> Model:
    """With noise ratios, item-5 (or 50) unknown, and with features (genres, year) that map to random vectors."""
    model = make_model(feedback, rank=rank, seed=seed)
    rng = np.random.default_rng(seed + 1)
    ratio = rng.uniform(0.02, 0.2, 12)
    ratio[4], ratio[5] = 0.1, 0.97
    catalogue = Catalogue(
        model.catalogue.ids, model.catalogue.titles, features={"genres": GENRES, "year": YEARS}
    )
    assert catalogue.features is not None
    columns = catalogue.features.matrix.shape[1]
    side = replace(
        model.item_side,
        popularity=rng.random(12),
        noise_ratio=ratio,
        feature_map=FeatureMap(rng.normal(size=(columns, 1 + rank)), rng.normal(size=1 + rank), 0.3),
    )
    return replace(model, item_side=side, catalogue=catalogue)


def make_table(feedback: str = "implicit", items: int = 12, seed: int = 0, *, sums: bool = True) -> Model:
    """A table of weights with random numbers; the last item has none, and two have a row and no column."""
    rng = np.random.default_rng(seed)
    inside = items - 1
    there = rng.random((items, items)) < 0.6
    there[:, -3:] = there[-1] = False
    np.fill_diagonal(there, False)
    rows, others = np.nonzero(there)
    head = np.arange(inside, dtype=np.int32)
    side = ItemWeights(
        scale=RatingScale((1.0, 5.0) if feedback == "explicit" else None),
        counts=rng.uniform(1.0, 90.0, items),
        base=rng.uniform(-0.01, 0.2, items),
        starts=np.searchsorted(rows, np.arange(items + 1)).astype(np.int64),
        others=others.astype(np.int32),
        weights=rng.normal(0.1, 0.3, len(rows)).astype(np.float32),
        together=rng.normal(20.0, 20.0, len(rows)).astype(np.float32),
        mass=rng.uniform(5.0, 60.0, items),
        noise=3.0,
        sums=Sums(
            head, rng.normal(5, 9, inside * (inside - 1) // 2).astype(np.float32), 3.0, 15.0, 900.0, 60.0
        )
        if sums
        else None,
    )
    catalogue = Catalogue([f"item-{j}" for j in range(items)], {"item-3": "Third of its kind"})
    return Model(side, catalogue, STATEMENT, "by hand", {})
