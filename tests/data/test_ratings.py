"""What can be done with ratings once they are in."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Ratings
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
    with pytest.raises(RatingsInvalid, match="a catalogue is needed"):
        small().with_catalogue(None)


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
