"""Splits for evaluation.

The parts of a split share the catalogue and, except for held-out users, the user rows: row ``i`` is the same
user in the training and in the test part, so that a vector folded in from one predicts for the other. A user
may have no ratings in a part.

Every function takes ``rng`` as a seed, a `numpy.random.Generator`, or None for a fresh one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid

__all__ = ["Rng", "by_rating", "held_out_users", "k_fold"]

Rng: TypeAlias = int | np.random.Generator | None


def by_rating(
    ratings: Ratings, fractions: Sequence[float] = (0.98, 0.01, 0.01), rng: Rng = None
) -> tuple[Ratings, ...]:
    """Deal all ratings at random into parts of the given shares, which add up to 1."""
    shares = np.asarray(fractions, dtype=float)
    if shares.ndim != 1 or not (shares > 0).all() or not abs(shares.sum() - 1) < 1e-9:
        raise SettingsInvalid(f"the fractions {tuple(fractions)} must be positive and add up to 1")
    ends = np.rint(np.cumsum(shares) * ratings.n_ratings).astype(np.int64)
    part = np.searchsorted(ends, np.random.default_rng(rng).permutation(ratings.n_ratings), side="right")
    return tuple(ratings.keep(part == number) for number in range(len(shares)))


def k_fold(ratings: Ratings, k: int, rng: Rng = None) -> Iterator[tuple[Ratings, Ratings]]:
    """The k pairs of training and test ratings of a cross-validation; every rating is tested once."""
    if not 2 <= k <= ratings.n_ratings:
        raise SettingsInvalid(
            f"k is {k}; it must be between 2 and the number of ratings, {ratings.n_ratings}"
        )
    fold = np.random.default_rng(rng).permutation(ratings.n_ratings) % k
    return ((ratings.keep(fold != number), ratings.keep(fold == number)) for number in range(k))


def held_out_users(
    ratings: Ratings, fraction: float, rng: Rng = None, query_fraction: float = 0.8
) -> tuple[Ratings, Ratings, Ratings]:
    """Train on some users, test on others (a share ``fraction`` of all), who show part of their ratings.

    Parameters
    ----------
    query_fraction
        Share of a held-out user's ratings that is shown. A user with two or more ratings has at least one
        shown and one hidden; a single rating is shown.

    Returns
    -------
    train, query, target
        All ratings of the other users; what is shown of the held-out ones; what is hidden.
    """
    for name, share in (("fraction", fraction), ("query_fraction", query_fraction)):
        if not 0 < share < 1:
            raise SettingsInvalid(f"{name} is {share}; it must be between 0 and 1")
    if ratings.n_users < 2:
        raise SettingsInvalid("holding users out needs at least two users")
    generator = np.random.default_rng(rng)
    held = int(np.clip(np.rint(fraction * ratings.n_users), 1, ratings.n_users - 1))
    chosen = np.zeros(ratings.n_users, dtype=bool)
    chosen[generator.choice(ratings.n_users, held, replace=False)] = True
    others = ratings.take_users(chosen)
    counts = np.diff(others.indptr)
    shown = np.clip(np.rint(query_fraction * counts), 1, np.maximum(counts - 1, 1))
    query = _places(others, generator) < np.repeat(shown, counts)
    return ratings.take_users(~chosen), others.keep(query), others.keep(~query)


def _places(ratings: Ratings, rng: Rng) -> npt.NDArray[np.int64]:
    """Place of each rating in a random order of its own user's ratings, from 0."""
    counts = np.diff(ratings.indptr)
    users = np.repeat(np.arange(ratings.n_users), counts)
    order = np.lexsort((np.random.default_rng(rng).random(ratings.n_ratings), users))
    places = np.empty(ratings.n_ratings, dtype=np.int64)
    places[order] = np.arange(ratings.n_ratings) - np.repeat(ratings.indptr[:-1], counts)
    return places
