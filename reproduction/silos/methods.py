"""What is compared over silos, each as vectors whose products are predictions, and how all of it is scored alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet import kernels, silos
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.methods.budgeted.estimator import BudgetedALS
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.types import Floats
from reproduction.silos.ranks import percentile_ranks
from reproduction.silos.worlds import SiloWorld

Vectors: TypeAlias = tuple[Floats, Floats]
"""One row for each user and one for each item; their products are predictions."""
Predictor: TypeAlias = Callable[[int, Ratings], Vectors]
"""From a silo's number and what is known of some of its users."""

DELTA = 1e-6
USER_MEAN, GLOBAL_MEAN = "user mean (free)", "global mean"
ITEM_MEAN, POPULARITY = "item mean (not private)", "popularity (not private)"


@dataclass(frozen=True)
class Score:
    """RMSE on known and on held-out ratings, and the mean percentile rank of the held-out ones."""

    train: float
    test: float
    rank: float


def score(world: SiloWorld, predictor: Predictor) -> Score:
    """Score on the tested users of all silos; predictions are clipped to the scale, orders are not."""
    wrong = {"train": 0.0, "test": 0.0}
    rated = {"train": 0, "test": 0}
    placed = weight = 0.0
    for number, (known, held) in enumerate(world.tested):
        left, right = predictor(number, known)
        for part, ratings in (("train", known), ("test", held)):
            users = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
            found = np.clip(kernels.dot_pairs(users, ratings.items, left, right), *world.scale)
            wrong[part] += float(np.square(found - ratings.values).sum())
            rated[part] += ratings.n_ratings
        places = percentile_ranks(_scores(left, right), held.indptr, held.items)
        placed += float(places @ held.values)
        weight += float(held.values.sum())
    train, test = ((wrong[part] / max(rated[part], 1)) ** 0.5 for part in ("train", "test"))
    return Score(train, test, placed / weight if weight else float("nan"))


def _scores(left: Floats, right: Floats) -> Callable[[int], Floats]:
    return lambda user: right @ left[user]


def with_side(side: ItemSide | Sequence[ItemSide]) -> Predictor:
    """Any item side: the same everywhere, or each silo's own."""

    def vectors(number: int, known: Ratings) -> Vectors:
        its = side if isinstance(side, ItemSide) else side[number]
        own = its.fold_in(known.indptr, known.items, known.values)
        right = np.column_stack([its.design(), its.offsets + its.centre])
        return np.column_stack([own, np.ones(len(own))]), right

    return vectors


def levels(world: SiloWorld) -> dict[str, Score]:
    """What is free, and two numbers for each item taken without noise."""
    train = world.train
    counts = np.bincount(train.items, minlength=train.n_items).astype(np.float64)
    mean = float(train.values.mean())
    means = np.bincount(train.items, train.values, minlength=train.n_items) / np.maximum(counts, 1.0)
    means[counts == 0] = mean

    def user_mean(_: int, known: Ratings) -> Vectors:
        sums = np.bincount(
            np.repeat(np.arange(known.n_users), np.diff(known.indptr)), known.values, minlength=known.n_users
        )
        return (sums / np.maximum(np.diff(known.indptr), 1))[:, None], np.ones((known.n_items, 1))

    def by_item(values: Floats) -> Predictor:
        return lambda _, known: (np.ones((known.n_users, 1)), values[:, None])

    found = {
        GLOBAL_MEAN: score(world, by_item(np.full(train.n_items, mean))),
        USER_MEAN: score(world, user_mean),
        ITEM_MEAN: score(world, by_item(means)),
    }
    if train.n_ratings + world.test.n_ratings < train.n_users * train.n_items:  # else nothing is popular
        found[POPULARITY] = Score(float("nan"), float("nan"), score(world, by_item(counts)).rank)
    return found


def private_messages(
    parts: Iterable[Ratings], epsilon: float, settings: dict[str, Any]
) -> list[PrototypeMessage]:
    """The messages of all silos whose noisy count does not keep them out."""
    method, messages = PrivatePrototypes(**settings), []
    for part in parts:
        try:
            messages.append(method.message(part, epsilon))
        except RatingsInvalid:
            continue
    return messages


def federate(parts: Iterable[Ratings], epsilon: float, seed: int, **settings: Any) -> Model:
    """What federated ALS with noise in shares ends in, all silos in this process."""
    budget, method = Budget(epsilon, DELTA), BudgetedALS(**settings)
    return silos.fit(list(parts), budget, method=method, rng=seed).model_
