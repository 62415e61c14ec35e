"""Splits for evaluation: at random, and times as numbers that sort. For the holder alone.

The parts of a split share the catalogue and, except for held-out users, the user rows: row ``i`` is the same
user in the training and in the test part, so that a vector folded in from one predicts for the other. A user
may have no ratings in a part.

Every function takes ``rng`` as a seed, a `numpy.random.Generator`, or None for a fresh one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid, SettingsInvalid

__all__ = ["Rng", "by_rating", "held_out_users", "k_fold", "read_moments"]

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


def read_moments(values: pl.Series, time_format: str | None) -> pl.Series:
    """One number for each row, and none where the time is missing.

    Values are numbers, dates of a typed table, or texts: as the format says (as for ``strptime``), or without one all
    of them numbers, or all in ISO 8601. The first row whose time cannot be read is refused: no text sorts as a text.
    """
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype != pl.String:
        if time_format is not None:
            raise SettingsInvalid(f"--time-format is for texts; the column of times holds {values.dtype}")
        if not (values.dtype.is_temporal() or values.dtype.is_numeric() or values.dtype == pl.Null):
            raise RatingsInvalid(f"the column of times holds {values.dtype}, not times")
        return values.to_physical()
    texts = values.str.strip_chars()
    texts = texts.set(texts == "", None)
    for kind in (pl.Int64(), pl.Float64()) if time_format is None else ():
        numbers = texts.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count() and not numbers.is_infinite().any():
            return numbers
    moments = {text: _moment(text, time_format) for text in texts.drop_nulls().unique()}
    found = texts.replace_strict(moments, default=None, return_dtype=pl.Int64)
    wrong = (found.is_null() & texts.is_not_null()).arg_true()
    if len(wrong):
        why = "neither a number nor ISO 8601 (2024-05-01, 2024-05-01T10:00:00Z)"
        raise RatingsInvalid(
            f"row {wrong[0] + 1}: the time {texts[wrong[0]]!r} is "
            f"{why if time_format is None else f'not written as {time_format}'}; correct it, or say how times are "
            "written: --time-format '%d.%m.%Y'"
        )
    return found


def _moment(text: str, time_format: str | None) -> int | None:
    """Microseconds since 1970; where no zone is given, that of Greenwich."""
    try:
        read = datetime.fromisoformat(text) if time_format is None else datetime.strptime(text, time_format)
    except ValueError:
        return None
    read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
    past = read - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds
