"""Synthetic users who try to count for more than one: what neighbouring data sets differ in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.data.ratings import Ratings
from discreet.types import Floats

__all__ = ["strangers", "together"]

# More items than this make a stranger no louder, only slower to ask.
_MOST_ITEMS = 2_000


def strangers(ratings: Ratings, seed: int) -> Ratings:
    """Synthetic users over the same catalogue and scale; of ``ratings`` nothing but what is public is read.

    All items or one, everything at the top, at the bottom, at both ends, in between, and nobody's ordinary few.
    """
    rng = np.random.default_rng(seed)
    most = min(ratings.n_items, _MOST_ITEMS)
    sizes = [most, most, most, most, 1, 1, 0, *rng.integers(1, most + 1, 5)]
    rows = [np.sort(rng.choice(ratings.n_items, size, replace=False)) for size in sizes]
    values = [_values(ratings, place, len(row), rng) for place, row in enumerate(rows)]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return replace(
        ratings,
        indptr=indptr,
        items=np.concatenate(rows).astype(ratings.items.dtype),
        values=np.concatenate(values),
        user_ids=np.arange(len(sizes)),
    )


def _values(ratings: Ratings, place: int, size: int, rng: np.random.Generator) -> Floats:
    if ratings.rating_range is None:
        return np.ones(size)
    low, high = ratings.rating_range
    extremes = {0: (high, high), 1: (low, low), 2: (low, high), 4: (high, high), 5: (low, low)}
    if place in extremes:
        return np.resize(np.array(extremes[place], dtype=np.float64), size)
    return rng.uniform(low, high, size)


def together(one: Ratings, other: Ratings) -> Ratings:
    """Users of both, those of ``other`` last; over the same catalogue."""
    return replace(
        one,
        indptr=np.concatenate([one.indptr, one.indptr[-1] + other.indptr[1:]]),
        items=np.concatenate([one.items, other.items]),
        values=np.concatenate([one.values, other.values]),
        # Ids mean nothing here, and those of two sources may clash.
        user_ids=np.arange(one.n_users + other.n_users),
    )
