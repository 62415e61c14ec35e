"""Rows, points and clusters: within their bounds whatever is given, and everybody's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import RatingsInvalid
from discreet.privacy.bounded_rows import GRID, HALF_SIDE, BoundedRows, Clusters, RowBounds, bounded_points
from tests.privacy.mechanisms import MOST, M, Users, hostile_users

BOUNDS = {
    "wide": RowBounds.of((-5.0, 5.0), centre=0.0, items=MOST),
    "off centre": RowBounds.of((0.0, 5.0), centre=2.5, items=MOST, cap=2.0),
    "short": RowBounds.of((0.0, 5.0), centre=0.0, items=2, norm=3.0),
    "small": RowBounds.of((-5.0, 5.0), centre=0.0, items=MOST, norm=1.3, total=1.7),
    "tiny": RowBounds.of((-5.0, 5.0), centre=0.0, items=MOST, norm=1e-9, total=1e-9),
}


def rows_of(users: Users, bounds: RowBounds) -> BoundedRows:
    return BoundedRows.of(users.pattern.indptr, users.pattern.items, users.flat, M, bounds)


def split(rows: BoundedRows) -> list[tuple[list[int], list[int]]]:
    ends = rows.pattern.indptr[1:-1]
    parts = zip(np.split(rows.pattern.items, ends), np.split(rows.values, ends), strict=True)
    return [(items.tolist(), values.tolist()) for items, values in parts]


@pytest.mark.parametrize("name", list(BOUNDS))
def test_rows_of_anybody_are_within_their_bounds(name: str) -> None:
    bounds, reached = BOUNDS[name], 0.0
    for seed in range(20):
        for items, values in split(rows_of(hostile_users(seed), bounds)):
            assert len(items) <= bounds.items
            assert max(map(abs, values), default=0) <= GRID
            assert math.sqrt(sum(value**2 for value in values)) <= bounds.norm * (1 + 1e-15)
            assert sum(map(abs, values)) <= bounds.total
            reached = max(reached, sum(map(abs, values)) / bounds.total)
    assert reached > 0.7


@pytest.mark.parametrize("name", list(BOUNDS))
def test_nobodys_row_depends_on_the_others(name: str) -> None:
    users = hostile_users(4)
    whole = split(rows_of(users, BOUNDS[name]))
    assert whole == [row for k in range(len(users)) for row in split(rows_of(users.take([k]), BOUNDS[name]))]


def test_no_number_is_the_centre_and_endless_ones_are_the_cap() -> None:
    bounds = RowBounds.of((0.0, 5.0), centre=2.5, items=4)
    ratings = np.array([np.nan, np.inf, -np.inf, 2.5])
    rows = BoundedRows.of(np.array([0, 4]), np.arange(4), ratings, 4, bounds)
    assert rows.values.tolist() == [0, GRID, -GRID, 0]


def test_points_of_anybody_are_within_the_ball() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((200, 3)) * 10.0 ** rng.integers(-3, 12, (200, 1))
    vectors[:6] = [
        [np.nan, 1, 1],
        [np.inf, 0, 0],
        [1e200, 1e200, 0],
        [0, 0, 0],
        [HALF_SIDE, 0, 0],
        [-1e9, 0, 0],
    ]
    points = bounded_points(vectors)
    assert ((points**2).sum(axis=1) <= (HALF_SIDE - 1) ** 2).all()
    assert not points[:4].any()
    assert points[5, 0] <= -HALF_SIDE + 2
    with np.errstate(over="ignore"):
        short = np.sqrt((vectors**2).sum(axis=1)) < HALF_SIDE - 2
    assert (points[short] == np.trunc(vectors[short])).all()
    for k in range(len(vectors)):
        assert (bounded_points(vectors[k : k + 1])[0] == points[k]).all()


def test_everybody_has_one_number() -> None:
    users = hostile_users(0)
    with pytest.raises(RatingsInvalid, match="one cluster"):
        Clusters(rows_of(users, BOUNDS["wide"]), np.zeros(len(users) + 1, dtype=np.int64), 2)
