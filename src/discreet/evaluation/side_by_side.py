"""A history and a test of the same people, side by side: whole in memory, or a partition at a time from disk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.data.blocks import StoredRatings
from discreet.data.ratings import Ratings
from discreet.errors import HistoryInvalid, RatingsInvalid
from discreet.evaluation.recommender import Recommender
from discreet.types import Floats

__all__ = ["AnyRatings", "count_items", "mean_rating", "pairs"]

AnyRatings = Ratings | StoredRatings
"""Ratings in memory, or prepared on disk."""


def pairs(model: Recommender, history: AnyRatings, test: AnyRatings) -> Iterator[tuple[Ratings, Ratings]]:
    """Every user of the test once: what they did before, and their test, in the same rows.

    Raises
    ------
    HistoryInvalid
        After the last pair, if nobody had a history: the files have other user ids.
    """
    found, example = 0, None
    for past, held_out in _parts(history, test):
        for part in (past, held_out):
            model.check_histories(part)
        rows = past.for_users(held_out.user_ids)
        found += rows.n_ratings
        if example is None and past.n_users and held_out.n_users:
            example = (held_out.user_ids[0], past.user_ids[0])
        if found or not held_out.n_users or not isinstance(history, Ratings):
            yield rows, held_out
    if test.n_users and found == 0:
        words = "" if example is None else ": user ids such as {!r} are looked for among ids such as {!r}"
        raise HistoryInvalid(
            f"none of the {test.n_users} test users has a history{words.format(*example or ())}; both files need the "
            "same user ids"
        )


def mean_rating(ratings: AnyRatings) -> float:
    """Mean of all ratings."""
    return float(sum(part.values.sum() for part in _blocks(ratings)) / max(ratings.n_ratings, 1))


def count_items(ratings: AnyRatings) -> tuple[Floats, int]:
    """How often each item was met, and how many people met any. Exact: for the holder alone."""
    counts, people = np.zeros(ratings.n_items), 0
    for part in _blocks(ratings):
        counts += np.bincount(part.items, minlength=ratings.n_items)
        people += int(np.count_nonzero(np.diff(part.indptr)))
    return counts, people


def _blocks(ratings: AnyRatings) -> Iterator[Ratings]:
    return iter((ratings,)) if isinstance(ratings, Ratings) else ratings.blocks()


def _parts(history: AnyRatings, test: AnyRatings) -> Iterator[tuple[Ratings, Ratings]]:
    if isinstance(history, Ratings) and isinstance(test, Ratings):
        yield history, test
        return
    if isinstance(history, Ratings) or isinstance(test, Ratings):
        raise RatingsInvalid("the history and the test must both be in memory, or both be prepared on disk")
    if history.partitions != test.partitions:
        raise RatingsInvalid(
            f"{history.folder} and {test.folder} were not prepared to be read side by side; prepare the test again, "
            "with alike=history"
        )
    for number in range(history.partitions):
        for held_out in test.partition(number):
            yield from _shared(history, held_out, number)


def _shared(history: StoredRatings, held_out: Ratings, number: int) -> Iterator[tuple[Ratings, Ratings]]:
    """One block of the test beside each block that may have its users, and last those who have no history."""
    left, empty = np.ones(held_out.n_users, dtype=bool), None
    for past in history.partition(number):
        if past.user_ids.dtype != held_out.user_ids.dtype:
            raise RatingsInvalid(
                f"the user ids of {history.folder} and of the test are not of one kind: whole numbers, and text"
            )
        here = np.isin(held_out.user_ids, past.user_ids)
        left &= ~here
        empty = past.take_users(slice(0, 0))
        if here.any():
            yield past, held_out.take_users(here)
    if left.any():
        yield held_out.take_users(slice(0, 0)) if empty is None else empty, held_out.take_users(left)
