"""A history and a test of the same people, side by side: whole in memory, or a partition at a time from disk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.data import StoredRatings
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
    if history.dealt != test.dealt:
        raise RatingsInvalid(
            f"{history.folder} and {test.folder} were not prepared to be read side by side; prepare the test again, "
            "with alike=history"
        )
    for number in range(history.dealt):
        held_out = test.users_dealt(number)
        if held_out is not None:
            past = history.users_dealt(number)
            yield held_out.take_users(slice(0, 0)) if past is None else past, held_out
