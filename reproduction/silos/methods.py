"""What is compared over silos, private or not, each as vectors whose products are predictions; scored alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet import kernels, silos
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing, RatingsInvalid
from discreet.methods.budgeted.private.contributions import BudgetedALS
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import Entries, Rng, item_side_of, nonnegative_factors
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats
from reproduction.silos.worlds import SiloWorld, percentile_ranks

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
        right = np.column_stack([its.design, its.offsets + its.centre])
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


_BLOCK = 4096


def k_means_message(ratings: Ratings, k: int, rng: Rng = None, *, rounds: int = 20) -> PrototypeMessage:
    """Cluster means of one silo, exact. Clusters count unrated items as zeros; means are over those who rated."""
    generator = np.random.default_rng(rng)
    _check(ratings, k)
    centres = _dense(ratings.take_users(_some(ratings, k, generator)))[0]
    for _ in range(rounds):
        sums, raters, members = _assign(ratings, centres)
        # An empty cluster starts again at some user.
        empty = np.flatnonzero(members == 0)
        centres = sums / np.maximum(members, 1.0)[:, None]
        if len(empty):
            centres[empty] = _dense(ratings.take_users(_some(ratings, len(empty), generator)))[0]
    sums, raters, members = _assign(ratings, centres)
    kept = members > 0
    values = sums[kept] / np.maximum(raters[kept], 1.0)
    return _exact(values, raters[kept] > 0, members[kept], ratings, "k-means of exact ratings")


def random_message(ratings: Ratings, k: int, rng: Rng = None) -> PrototypeMessage:
    """Rows of random users of one silo, as they are."""
    _check(ratings, k)
    values, mask = _dense(ratings.take_users(_some(ratings, k, np.random.default_rng(rng))))
    return _exact(values, mask, np.ones(k), ratings, "rows of users as they are")


def central_factors(
    parts: Sequence[Ratings] | Ratings, settings: FactorSettings | None = None, rng: Rng = None
) -> ItemSide:
    """The item side from all ratings in one place; of a single silo, what it learns alone. Not private."""
    silos = [parts] if isinstance(parts, Ratings) else list(parts)
    first = silos[0]
    if first.catalogue is None:
        raise CatalogueMissing("a factorisation over silos needs a common catalogue")
    ends = np.cumsum([0, *(part.n_ratings for part in silos)])
    entries = Entries(
        np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(silos, ends, strict=False))]),
        np.concatenate([part.items for part in silos]),
        np.concatenate([part.values for part in silos]),
        len(first.catalogue),
    )
    chosen = FactorSettings() if settings is None else settings
    return item_side_of(nonnegative_factors(entries, chosen, rng), first.scale, chosen)


def _assign(ratings: Ratings, centres: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums and raters of each cluster and item, and members of each cluster."""
    sums, raters = np.zeros_like(centres), np.zeros_like(centres)
    members = np.zeros(len(centres))
    norms = (centres**2).sum(axis=1)
    for start in range(0, ratings.n_users, _BLOCK):
        values, mask = _dense(ratings.take_users(slice(start, start + _BLOCK)))
        which = np.argmin(norms - 2.0 * values @ centres.T, axis=1)
        one = np.zeros((len(values), len(centres)))
        one[np.arange(len(values)), which] = 1.0
        sums += one.T @ values
        raters += one.T @ mask
        members += one.sum(axis=0)
    return sums, raters, members


def _dense(ratings: Ratings) -> tuple[Floats, Bools]:
    rows = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
    values = np.zeros((ratings.n_users, ratings.n_items))
    mask = np.zeros(values.shape, dtype=np.bool_)
    values[rows, ratings.items] = ratings.values
    mask[rows, ratings.items] = True
    return values, mask


def _some(ratings: Ratings, k: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    return rng.choice(ratings.n_users, size=k, replace=k > ratings.n_users)


def _check(ratings: Ratings, k: int) -> None:
    if ratings.n_users < 1 or k < 1:
        raise RatingsInvalid(f"{k} exemplars cannot be taken from {ratings.n_users} users")


def _exact(values: Floats, mask: Bools, weights: Floats, ratings: Ratings, what: str) -> PrototypeMessage:
    if ratings.catalogue is None:
        raise CatalogueMissing("exemplars over silos need a common catalogue")
    return PrototypeMessage(
        values=values,
        mask=mask,
        weights=weights,
        catalogue=ratings.catalogue.digest,
        scale=ratings.scale,
        statement=Statement.not_private(f"a reference without noise: {what}"),
    )


def mean_objective(ratings: Ratings, message: PrototypeMessage, cap: float) -> float:
    """Mean over users of the squared distance of their row, clipped to the cap, to the nearest prototype."""
    centres = np.where(message.mask, np.minimum(message.values, cap), 0.0)
    norms, found = (centres**2).sum(axis=1), 0.0
    for start in range(0, ratings.n_users, _BLOCK):
        rows = np.minimum(_dense(ratings.take_users(slice(start, start + _BLOCK)))[0], cap)
        away = (rows**2).sum(axis=1) + (norms - 2.0 * rows @ centres.T).min(axis=1)
        found += float(np.maximum(away, 0.0).sum())
    return found / ratings.n_users


def private_prototypes(ratings: Ratings, k: int, epsilon: float, **settings: Any) -> PrototypeMessage:
    """The paper's clustering of all users in one place."""
    method = PrivatePrototypes(
        PrototypeSettings.from_preset(
            "swap", prototypes=k, users=ratings.n_users, minimum_users=1, shrink=False, **settings
        )
    )
    return method.message(ratings, epsilon)
