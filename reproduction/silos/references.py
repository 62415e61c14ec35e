"""The paper's comparisons, none of them private: exemplars without noise, all data in one place, each silo alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing, RatingsInvalid
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import Entries, Rng, item_side_of, nonnegative_factors
from discreet.methods.prototypes.settings import FactorSettings
from discreet.model.item_side import ItemSide
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats

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
