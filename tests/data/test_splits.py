"""Splits: nothing lost, nothing twice, user rows in step, sizes as asked."""

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data import Ratings, splits, synthetic
from discreet.data.splits import read_moments
from discreet.errors import RatingsInvalid, SettingsInvalid


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return synthetic.market(200, 100, 3_000, rng=5)


def pairs(ratings: Ratings) -> list[tuple[Any, int, float]]:
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    return list(zip(users.tolist(), ratings.items.tolist(), ratings.values.tolist(), strict=True))


def assert_partition(whole: Ratings, *parts: Ratings) -> None:
    assert sorted(pair for part in parts for pair in pairs(part)) == sorted(pairs(whole))
    for part in parts:
        assert part.catalogue == whole.catalogue
        assert part.rating_range == whole.rating_range
        assert len(part.indptr) == part.n_users + 1
        for start, end in zip(part.indptr[:-1], part.indptr[1:], strict=True):
            assert (np.diff(part.items[start:end]) > 0).all()


def test_by_rating(ratings: Ratings) -> None:
    parts = splits.by_rating(ratings, rng=0)
    assert [part.n_ratings for part in parts] == [2940, 30, 30]
    assert_partition(ratings, *parts)
    for part in parts:
        assert np.array_equal(part.user_ids, ratings.user_ids)
    half, rest = splits.by_rating(ratings, (0.5, 0.5), rng=1)
    assert half.n_ratings == rest.n_ratings == 1500
    # A random deal: the first users have about as many ratings in one part as in the other.
    assert abs(half.indptr[100] - rest.indptr[100]) < 200


@pytest.mark.parametrize("fractions", [(0.5, 0.4), (1.2, -0.2), (0.5, float("nan")), ()])
def test_fractions_must_add_up(ratings: Ratings, fractions: tuple[float, ...]) -> None:
    with pytest.raises(SettingsInvalid, match="positive and add up to 1"):
        splits.by_rating(ratings, fractions)


def test_k_fold_tests_every_rating_once(ratings: Ratings) -> None:
    folds = list(splits.k_fold(ratings, 7, rng=0))
    assert len(folds) == 7
    assert_partition(ratings, *(test for _, test in folds))
    for train, test in folds:
        assert_partition(ratings, train, test)
        assert abs(test.n_ratings - 3000 / 7) < 1
    for k in (1, 0, 3001):
        with pytest.raises(SettingsInvalid, match="between 2 and the number of ratings"):
            splits.k_fold(ratings, k)


def test_held_out_users(ratings: Ratings) -> None:
    train, query, target = splits.held_out_users(ratings, 0.25, rng=0)
    assert_partition(ratings, train, query, target)
    assert np.array_equal(query.user_ids, target.user_ids)
    assert query.n_users == 50
    assert train.n_users == 150
    assert not set(train.user_ids.tolist()) & set(query.user_ids.tolist())
    shown, hidden = np.diff(query.indptr), np.diff(target.indptr)
    assert (shown >= 1).all()
    assert (hidden[shown + hidden > 1] >= 1).all()
    assert np.abs(shown - 0.8 * (shown + hidden)).max() <= 1


def test_a_seed_repeats_the_split_and_a_generator_moves_on(ratings: Ratings) -> None:
    def split(rng: splits.Rng) -> list[Any]:
        parts = (
            *splits.by_rating(ratings, rng=rng),
            *next(iter(splits.k_fold(ratings, 3, rng=rng))),
            *splits.held_out_users(ratings, 0.5, rng=rng),
        )
        return [pairs(part) for part in parts]

    assert split(3) == split(3)
    assert split(3) != split(4)
    assert split(None) != split(None)
    generator = np.random.default_rng(3)
    assert split(generator) != split(generator)


@pytest.mark.parametrize(
    ("values", "time_format"),
    [
        ([3, 10, 200], None),
        (["3", "10", "200"], None),
        (["3.5", "10.25", "2e2"], None),
        (["1700000000000000001", "1700000000000000002", "1700000000000000003"], None),
        (["1969-12-31", "2024-05-01T10:00:00", "2024-05-01 10:00:00.5"], None),
        (["2024-05-01T12:00:00+05:00", "2024-05-01T10:00:00Z", "2024-05-01T06:00:00-05:00"], None),
        (["31.12.2019", "01.02.2020", "15.01.2021"], "%d.%m.%Y"),
        (["12/31/2019", "2/1/2020", "1/15/2021"], "%m/%d/%Y"),
        ([date(2019, 12, 31), date(2020, 2, 1), date(2021, 1, 15)], None),
    ],
)
def test_what_came_later_is_larger(values: list[object], time_format: str | None) -> None:
    read = read_moments(pl.Series(values, strict=False), time_format)
    assert read.is_sorted()
    assert read.n_unique() == 3
    mixed = read_moments(pl.Series([values[0], None, *values[1:]], strict=False), time_format)
    assert mixed.null_count() == 1
    assert mixed.drop_nulls().to_list() == read.to_list()


@pytest.mark.parametrize(
    ("values", "time_format", "message"),
    [
        (
            ["2020-01-01", "31.12.2019"],
            None,
            r"row 2: the time '31.12.2019' is neither a number nor ISO 8601.*--time",
        ),
        (["1", "2020-01-01"], None, "row 1: the time '1'"),
        (["1", "inf"], None, "neither a number"),
        (["01.02.2020", "2020-02-01"], "%d.%m.%Y", r"row 2: .* is not written as %d.%m.%Y"),
        ([True, False], None, "Boolean, not times"),
    ],
)
def test_what_cannot_be_read_is_refused(values: list[object], time_format: str | None, message: str) -> None:
    with pytest.raises(RatingsInvalid, match=message):
        read_moments(pl.Series(values), time_format)


def test_a_format_of_numbers_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="time-format is for texts"):
        read_moments(pl.Series([1, 2]), "%Y")
