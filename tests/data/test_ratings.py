"""What can be done with ratings once they are in."""

import dataclasses
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Ratings, splits
from discreet.data.ratings import Reading
from discreet.errors import RatingsInvalid

# Everyone's favourites: ids of one kind, any size, repeated pairs, in any order.
IDS = st.sampled_from([st.integers(-(2**63), 2**63 - 1), st.text(min_size=1, max_size=4), st.integers(0, 5)])


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Any, Any, float]]:
    users, items = draw(IDS), draw(IDS)
    return draw(st.lists(st.tuples(users, items, st.floats(-5, 5)), min_size=1, max_size=30))


@given(tables())
def test_ids_round_trip_and_the_last_of_a_pair_wins(rows: list[tuple[Any, Any, float]]) -> None:
    users, items, values = (list(column) for column in zip(*rows, strict=True))
    ratings = Ratings.from_frame(
        {"u": users, "i": items, "r": values}, user="u", item="i", rating="r", rating_range=(-5, 5)
    )
    expected: dict[Any, dict[Any, float]] = {}
    for user, item, value in rows:
        expected.setdefault(user, {})[item] = value
    assert {user: ratings.history(user) for user in ratings.user_ids.tolist()} == expected
    assert ratings.n_ratings == sum(map(len, expected.values()))
    for start, end in zip(ratings.indptr[:-1], ratings.indptr[1:], strict=True):
        assert (np.diff(ratings.items[start:end]) > 0).all()


@given(tables(), st.randoms())
def test_the_order_of_rows_does_not_matter_without_duplicates(
    rows: list[tuple[Any, Any, float]], random: Any
) -> None:
    distinct = list({(user, item): (user, item, value) for user, item, value in rows}.values())
    shuffled = random.sample(distinct, len(distinct))
    first, second = (
        Ratings.from_frame(
            dict(zip("uir", map(list, zip(*table, strict=True)), strict=True)),
            user="u",
            item="i",
            rating="r",
            rating_range=(-5, 5),
            duplicates="error",
        )
        for table in (distinct, shuffled)
    )
    for name in ("indptr", "items", "values", "user_ids", "provisional_ids"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


def small() -> Ratings:
    return Ratings.from_arrays(
        [0, 2, 2, 5],
        [2, 0, 3, 1, 0],
        [1, 2, 3, 4, 5],
        catalogue=list("wxyz"),
        rating_range=(1, 5),
        user_ids=[7, 8, 9],
    )


def test_arrays_are_sorted_within_users() -> None:
    ratings = small()
    assert ratings.items.tolist() == [0, 2, 0, 1, 3]
    assert ratings.values.tolist() == [2, 1, 5, 4, 3]
    assert (ratings.n_users, ratings.n_items, ratings.n_ratings, ratings.explicit) == (3, 4, 5, True)
    assert ratings.history(8) == {}


def test_it_cannot_be_reassigned_and_its_text_shows_no_ids() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        small().values = np.zeros(5)  # type: ignore[misc]
    assert repr(small()) == "Ratings(3 users, 4 items, 5 ratings, 1 to 5)"


def test_arrays_without_a_catalogue_use_the_seen_indices() -> None:
    ratings = Ratings.from_arrays([0, 1, 2], [4, 9], [1.0, 1.0], catalogue=None, rating_range=None)
    assert ratings.history(1) == {9: 1.0}
    assert ratings.n_items == 2


@pytest.mark.parametrize(
    ("index", "users"),
    [
        ([2, 0], [9, 7]),
        (np.array([2, 0]), [9, 7]),
        ([False, True, True], [8, 9]),
        (slice(1, None), [8, 9]),
        ([2, 2], [9, 9]),
        (np.array([], dtype=int), []),
    ],
)
def test_take_users(index: Any, users: list[int]) -> None:
    ratings = small()
    taken = ratings.take_users(index)
    assert taken.user_ids.tolist() == users
    for place, user in enumerate(taken.user_ids.tolist()):
        part = slice(taken.indptr[place], taken.indptr[place + 1])
        assert dict(zip(taken.items[part].tolist(), taken.values[part].tolist(), strict=True)) == {
            "wxyz".index(item): value for item, value in ratings.history(user).items()
        }


def test_for_users_lines_two_files_up() -> None:
    for users in ([1, 9, 7, 8], ["1", "9", "7", "8"]):  # the other file may have had text in that column
        lined_up = small().for_users(users)
        assert lined_up.user_ids.tolist() == users
        assert np.diff(lined_up.indptr).tolist() == [0, 3, 2, 0]
        assert [lined_up.history(user) for user in (9, 7, 1)] == [small().history(9), small().history(7), {}]
    with pytest.raises(RatingsInvalid, match="row 2: the user is missing"):
        small().for_users([9, None])  # type: ignore[list-item]


def test_keep_leaves_users_in_place() -> None:
    kept = small().keep(np.array([False, False, True, False, True]))
    assert kept.user_ids.tolist() == [7, 8, 9]
    assert kept.history(7) == {}
    assert kept.history(9) == {"w": 5.0, "z": 3.0}


def test_with_catalogue_reorders_and_drops() -> None:
    ratings = small().with_catalogue(["z", "new", "w"])
    assert ratings.history(9) == {"z": 3.0, "w": 5.0}
    assert ratings.history(7) == {"w": 2.0}
    assert ratings.items.tolist() == [2, 0, 2]
    assert ratings.n_users == 3
    with pytest.raises(RatingsInvalid, match="item 'y' is rated but not in the catalogue"):
        small().with_catalogue(["z", "new", "w"], unknown_items="error")
    with pytest.raises(RatingsInvalid, match="a catalogue is needed"):
        small().with_catalogue(None)


def test_with_catalogue_ends_the_provisional_state() -> None:
    seen = Ratings.from_frame({"u": [1, 1], "i": ["b", "c"]}, user="u", item="i")
    listed = seen.with_catalogue(["c", "b", "a"], unknown_items="error")
    assert listed.provisional_ids is None
    assert listed.history(1) == {"c": 1.0, "b": 1.0}


def test_a_user_with_a_hundred_thousand_ratings() -> None:
    items = np.random.default_rng(0).permutation(100_000)
    ratings = Ratings.from_frame({"u": np.zeros(100_000, int), "i": items}, user="u", item="i")
    assert ratings.n_users == 1
    assert np.array_equal(ratings.items, np.arange(100_000))


def test_no_loop_goes_over_the_rows(tmp_path: Path) -> None:
    def lines_run(rows: int) -> int:
        rng = np.random.default_rng(0)
        frame = pl.DataFrame({"u": rng.integers(0, 700, rows), "i": rng.integers(0, 500, rows)}).with_columns(
            pl.format("item-{}", "i").alias("i"), r=pl.Series(rng.integers(2, 11, rows) / 2)
        )
        frame.write_csv(tmp_path / "a.csv")
        catalogue = [f"item-{number}" for number in range(500)]
        reading: Reading = {
            "user": "u",
            "item": "i",
            "rating": "r",
            "rating_range": (1, 5),
            "catalogue": catalogue,
        }
        executed = 0

        def count(stack: FrameType, event: str, _: object) -> Any:
            nonlocal executed
            executed += event == "line"
            return count if "discreet" in stack.f_code.co_filename else None

        sys.settrace(count)
        try:
            for source in (frame, frame.to_arrow(), frame.to_pandas()):
                Ratings.from_frame(source, **reading)
            ratings = Ratings.from_csv(tmp_path / "a.csv", **reading)
            splits.leave_n_out(*splits.by_rating(ratings, (1.0,), rng=0), n=2, rng=0)
            ratings.with_catalogue(catalogue[:50]).take_users(slice(5)).for_users(ratings.user_ids)
        finally:
            sys.settrace(None)
        return executed

    assert 0 < lines_run(50_000) < lines_run(5_000) + 100


def test_memory_is_plain_for_compiled_code() -> None:
    """Kernels compile for writeable, contiguous arrays; a read-only view would compile them a second time."""
    ratings = Ratings.from_frame(pl.DataFrame({"u": [1, 2], "i": [1, 2]}), user="u", item="i")
    arrays: list[npt.NDArray[Any]] = []
    for version in (
        ratings,
        ratings.take_users([0]),
        ratings.keep(np.array([True, False])),
        ratings.for_users([2]),
    ):
        arrays += [version.indptr, version.items, version.values]
    assert all(array.flags.c_contiguous and array.flags.writeable for array in arrays)
