"""From ratings to a user's statistics in the budgeted method: nobody's depend on who else is there."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.private.contributions import user_statistics
from discreet.methods.budgeted.public.whitening import Frame
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.blocks import Pattern
from discreet.types import Floats


@pytest.mark.parametrize("rank", [0, 4, 16, 32])
def test_nobody_else_moves_on_the_way_from_ratings(rank: int) -> None:
    """A user's features and residuals are the same to the last bit whoever else is there, hostile or not.

    A product of all users' rows with one matrix in BLAS is not enough: which of its routines a row falls to, and so
    the last bit, depends on how many rows there are. Truncation can turn a last bit into a whole step.
    """
    rng = np.random.default_rng(13)
    for n in (2, 3, 4, 8, 17):
        ratings = _ratings(rng, n)
        side = ItemSide(
            ratings.scale,
            0.0,
            0.1 * rng.standard_normal(40),
            rng.standard_normal((40, rank)),
            Ridge(),
        )
        frame = Frame(rng.standard_normal((1 + rank, 1 + rank)), 1.0, rng.random(rank))
        full = _statistics(ratings, side, frame)
        for user in range(n):
            others = np.arange(n) != user
            less = _statistics(ratings.take_users(others), side, frame)
            pairs = np.repeat(others, np.diff(ratings.indptr))
            for whole, rest, kept in zip(full, less, (others, pairs, others), strict=True):
                assert np.array_equal(whole[kept], rest, equal_nan=True), (
                    f"user {user} of {n} changes somebody else"
                )


def _statistics(ratings: Ratings, side: ItemSide, frame: Frame) -> tuple[Floats, ...]:
    pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)
    with np.errstate(over="ignore", invalid="ignore"):
        users = user_statistics(ratings, pattern, side, frame)
    return users.features, users.residuals, users.spread


def _ratings(rng: np.random.Generator, n: int) -> Ratings:
    """The first user, who is solved for first, has nearly all items and the largest rating that a scale allows."""
    counts = rng.integers(1, 30, n)
    counts[0] = 39
    values = rng.uniform(-1.0, 1.0, int(counts.sum()))
    values[0] = 1e6
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([rng.choice(40, count, replace=False) for count in counts]),
        values,
        catalogue=np.arange(40),
        rating_range=(-1e6, 1e6),
    )
