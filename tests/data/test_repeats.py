"""Repeats and times: what becomes of them, and that nobody's change another user's ratings."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Ratings
from discreet.data.rules import Duplicates

ITEMS = ["x", "y", "z"]
ROWS = pl.DataFrame(
    {
        "u": ["a", "a", "a", "b", "b", "a"],
        "i": ["x", "x", "y", "x", "y", "x"],
        "n": [1.0, 4.0, 2.0, 3.0, -1.0, 3.0],
        "t": [3, 1, 9, 5, 5, 2],
    }
)


@pytest.mark.parametrize(
    ("rule", "time", "value"),
    [
        ("last", None, 3.0),
        ("first", None, 1.0),
        ("last", "t", 1.0),
        ("first", "t", 4.0),
    ],
)
def test_repeated_ratings(rule: Duplicates, time: str | None, value: float) -> None:
    read = Ratings.from_frame(
        ROWS, user="u", item="i", rating="n", rating_range=(-1, 5), duplicates=rule, time=time
    )
    assert read.history("a") == {"x": value, "y": 2.0}
    assert read.left_out.merged == 2


ODD = st.sampled_from(["3", "1e308", "-1e308", "nan", "inf", "", "2,5", "x", "2024-05-01", "0", "1e-300"])


@settings(max_examples=60, deadline=None)
@given(
    others=st.lists(st.tuples(st.sampled_from("bcd"), st.sampled_from(ITEMS), ODD, ODD), min_size=1),
    own=st.lists(st.tuples(st.just("a"), st.sampled_from(ITEMS), ODD, ODD)),
    place=st.integers(0, 20),
    rule=st.sampled_from(["last", "first"]),
)
def test_one_users_rows_change_nobody_elses_ratings(
    others: list[Any], own: list[Any], place: int, rule: Duplicates
) -> None:
    """The neighbour test of the note on reading: whatever stands in one user's ratings and times."""
    usable = ("e", "x", "1", "1")  # without one usable row a table is refused
    histories = []
    for rows in ([usable, *others], [usable, *others[:place], *own, *others[place:]]):
        frame = pl.DataFrame(rows, schema=["u", "i", "n", "t"], orient="row")
        time = "t" if rule in ("last", "first") else None
        read = Ratings.from_frame(
            frame.vstack(frame.head(1)),
            user="u",
            item="i",
            allow_dropped=1.0,
            rating="n",
            rating_range=(-5, 5),
            out_of_range="clip",
            time=time,
            duplicates=rule,
            catalogue=ITEMS,
        )
        assert ((read.values >= -5.0) & (read.values <= 5.0)).all()
        histories.append({user: read.history(user) for user in read.user_ids if user != "a"})
    assert histories[0] == histories[1]


def test_one_users_odd_time_leaves_the_order_of_others() -> None:
    rows = [("b", "x", "2", "9"), ("b", "x", "4", "10"), ("a", "x", "3", "yesterday")]
    for kept in (rows, rows[:2]):
        frame = pl.DataFrame(kept, schema=["u", "i", "n", "t"], orient="row")
        read = Ratings.from_frame(frame, user="u", item="i", rating="n", rating_range=(1, 5), time="t")
        assert read.history("b") == {"x": 4.0}  # as text, 9 would be later than 10
