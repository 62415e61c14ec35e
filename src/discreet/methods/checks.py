"""Checks before training: on public facts for private methods, on the ratings for non-private ones."""

from __future__ import annotations

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import CatalogueInvalid, RatingsInvalid

__all__ = ["MOST_ITEMS", "check_items", "check_ratings", "check_users"]

MOST_ITEMS = 2**31 - 1
"""Items are numbered in int32."""


def check_items(n_items: int) -> None:
    """Refuse a catalogue in which there is nothing to choose, or too much. Its size is public."""
    if n_items > MOST_ITEMS:
        raise CatalogueInvalid(
            f"the catalogue has {n_items:,} items; their numbers have 31 bits, so list at most {MOST_ITEMS:,}"
        )
    if n_items < 2:
        raise CatalogueInvalid(
            "the catalogue has only one item, so there is nothing to recommend it over; give at least two items"
        )


def check_users(ratings: Ratings) -> None:
    """Refuse fewer than two users with ratings. For methods that are not private: the number is not public."""
    if not isinstance(ratings, Ratings):
        raise RatingsInvalid("a method that is not private needs its ratings in memory: use --engine memory")
    if np.count_nonzero(np.diff(ratings.indptr)) < 2:
        raise RatingsInvalid(
            "only one user has ratings, so there is nobody to learn from; check the user column, or bring more users"
        )


def check_ratings(ratings: object) -> None:
    """Refuse anything but ratings, and say how to make them."""
    if not isinstance(ratings, Ratings) and not _on_disk(ratings):
        raise RatingsInvalid(
            f"fit takes discreet.Ratings, not {type(ratings).__name__}; make them with "
            "discreet.Ratings.from_frame(frame, user=..., item=..., rating=..., rating_range=..., catalogue=...)"
        )


def _on_disk(ratings: object) -> bool:
    from discreet.data.stored import StoredRatings

    return isinstance(ratings, StoredRatings)
