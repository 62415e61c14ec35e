"""Splits for evaluation.

The parts of a split share the catalogue and, except for held-out users, the user rows: row ``i`` is the same
user in the training and in the test part, so that a vector folded in from one predicts for the other. A user
may have no ratings in a part.

Every function takes ``rng`` as a seed, a `numpy.random.Generator`, or None for a fresh one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings, Reading
from discreet.errors import SettingsInvalid

__all__ = ["Rng", "by_fold", "by_rating", "held_out_users", "k_fold", "leave_n_out"]

Rng: TypeAlias = int | np.random.Generator | None


def by_rating(
    ratings: Ratings, fractions: Sequence[float] = (0.98, 0.01, 0.01), rng: Rng = None
) -> tuple[Ratings, ...]:
    """Deal all ratings at random into parts of the given sizes.

    Parameters
    ----------
    ratings
        What to split.
    fractions
        Share of each part; together 1.
    rng
        Seed, generator or None.
    """
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


def by_fold(frame: Any, *, fold: str, held_out: int, **reading: Unpack[Reading]) -> tuple[Ratings, Ratings]:
    """Training and test ratings of a table that brings its own split in a column of numbers.

    Parameters
    ----------
    frame, **reading
        As for `Ratings.from_frame`; but a row that lacks something, or lies outside the range, is an error.
    fold
        The column with the number of each rating's part.
    held_out
        The part to test on; all others are for training.
    """
    # Both readings must keep the same rows.
    reading["missing"] = reading["out_of_range"] = "error"
    ratings = Ratings.from_frame(frame, **reading)
    # Read as if it were the rating, the fold lands in the same place as the rating it belongs to.
    reading["rating"], reading["rating_range"] = fold, (-1e6, 1e6)
    folds = Ratings.from_frame(frame, **reading).values
    if not (folds == held_out).any():
        raise SettingsInvalid(f"no rating is in fold {held_out}; there are {np.unique(folds).tolist()[:20]}")
    return ratings.keep(folds != held_out), ratings.keep(folds == held_out)


def leave_n_out(ratings: Ratings, n: int, rng: Rng = None) -> tuple[Ratings, Ratings]:
    """Training ratings, and n random ratings of each user who has more than n; other users stay whole."""
    if not n >= 1:
        raise SettingsInvalid(f"n is {n}; it must be at least 1")
    counts = np.diff(ratings.indptr)
    out = _places(ratings, rng) < np.repeat(np.where(counts > n, n, 0), counts)
    return ratings.keep(~out), ratings.keep(out)


def held_out_users(
    ratings: Ratings, fraction: float, rng: Rng = None, query_fraction: float = 0.8
) -> tuple[Ratings, Ratings, Ratings]:
    """Train on some users, test on others, who show part of their ratings.

    Parameters
    ----------
    ratings
        What to split.
    fraction
        Share of the users to hold out.
    rng
        Seed, generator or None.
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
