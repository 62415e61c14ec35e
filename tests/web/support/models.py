"""Models of every fold-in rule, with random arrays: what is served is computed from them alone."""

from __future__ import annotations

import numpy as np

from discreet.catalogue import Catalogue, RatingScale
from discreet.model import Model
from discreet.model.fold_in import Clicks, FoldIn, FrankWolfeReplay, NonNegative, OwnMean, Ridge
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide, ItemWeights
from discreet.privacy.statement import Statement

RULES = ("Ridge", "Clicks", "Opinions", "OwnMean", "NonNegative", "FrankWolfe")
TABLES = ("Table", "ClickTable")
RANGE = (1.0, 5.0)


def make_model(
    kind: str,
    n_items: int = 300,
    rank: int = 8,
    seed: int = 0,
    head: int | None = None,
    kept: int = 20,
) -> Model:
    """A model of one rule or a table; "Opinions" is one that ranks from ratings.

    A table speaks of ``head`` items, two thirds of all, and keeps so many weights for each.
    """
    rng = np.random.default_rng(seed)
    if kind in TABLES:
        scale = RatingScale(RANGE if kind == "Table" else None)
        return _named(_table(scale, n_items, head or 2 * n_items // 3, kept, rng))
    offsets = 0.4 * rng.normal(size=n_items)
    factors = rng.normal(size=(n_items, rank)) / np.sqrt(max(rank, 1))
    if kind == "NonNegative":
        factors = np.abs(factors)
    scale = RatingScale(None if kind == "Clicks" else RANGE)
    side = ItemSide(
        scale=scale,
        centre=0.0 if kind in ("Clicks", "Opinions") else 3.2,
        offsets=offsets,
        factors=factors,
        rule=_rule(kind, n_items, rank, rng),
        popularity=rng.random(n_items),
        noise_ratio=np.where(rng.random(n_items) < 0.1, 0.99, 0.6 * rng.random(n_items)),
        guessed=rng.random(n_items) < 0.05,
    )
    return _named(side)


def random_history(model: Model, rng: np.random.Generator, most: int = 40) -> dict[str, float]:
    """Some items and ratings; of clicks all ratings are 1, and a third are -1 where a table can tell."""
    chosen = rng.choice(model.item_side.n_items, int(rng.integers(0, most)), replace=False)
    explicit = model.item_side.scale.explicit
    ids = model.catalogue.ids[chosen].tolist()
    if explicit:
        return {one: float(rng.integers(1, 6)) for one in ids}
    signed = isinstance(model.item_side, ItemWeights)
    return {one: -1.0 if signed and rng.random() < 1 / 3 else 1.0 for one in ids}


def _named(side: AnySide) -> Model:
    titles = {f"film-{number}": f"The Película number {number}" for number in range(side.n_items)}
    statement = Statement.not_private("made of random numbers")
    return Model(side, Catalogue(list(titles), titles), statement, "random")


def _table(scale: RatingScale, n_items: int, head: int, kept: int, rng: np.random.Generator) -> ItemWeights:
    """Random weights, a few large and many small, ``kept`` for each item of the head."""
    positions = np.sort(rng.choice(n_items, head, replace=False))
    pairs = np.concatenate([rng.choice(head, kept, replace=False) * head + other for other in range(head)])
    pairs = np.unique(pairs[pairs // head != pairs % head])
    rows, others = positions[pairs // head], positions[pairs % head].astype(np.int32)
    weights = (0.3 * rng.normal(size=len(pairs)) ** 3 / kept).astype(np.float32)
    counts = np.sort(rng.pareto(1.0, n_items))[rng.permutation(n_items)]
    return ItemWeights(
        scale=scale,
        counts=counts,
        base=0.01 * counts / counts.max(),
        starts=np.cumsum([0, *np.bincount(rows, minlength=n_items)]),
        others=others,
        weights=weights,
        together=np.abs(rng.normal(size=len(pairs), scale=3.0)).astype(np.float32),
        mass=1.0 + rng.random(n_items),
        noise=0.5,
    )


def _rule(kind: str, n_items: int, rank: int, rng: np.random.Generator) -> FoldIn:
    if kind == "Ridge":
        return Ridge(offset_penalty=2.0, factor_penalty=3.0, count_exponent=0.5)
    if kind in ("Clicks", "Opinions"):
        return Clicks(gravity=0.05, factor_penalty=2.0, count_exponent=0.3)
    if kind == "OwnMean":
        return OwnMean((rng.random(n_items) < 0.5).astype(np.float64), 2.0, 0.2)
    if kind == "NonNegative":
        return NonNegative(1.5, 0.1)
    return FrankWolfeReplay(10.0 + 90.0 * rng.random(rank), 400.0, 6.0)
