"""Neighbours stay neighbours: no row of one user changes what is read of another, whatever stands in it."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet import Ratings
from discreet.catalogue import Catalogue
from discreet.catalogue.columns import Columns
from discreet.data import prepare
from discreet.data.rules import RowRules
from discreet.errors import RatingsInvalid

A, B, BIG, NOW = 1800000000000000001, 1800000000000000002, 9007199254740993, 1700000000000000000
OTHERS: list[dict[str, Any]] = [
    {"u": A, "i": 1, "r": 4, "t": NOW},
    {"u": A, "i": BIG, "r": 3.3333333333, "t": NOW + 2},
    {"u": A, "i": BIG, "r": 2, "t": NOW + 1},
    {"u": B, "i": 2, "r": 1.1, "t": None},
]
EXPECTED = {str(A): {"1": 4.0, str(BIG): 3.3333333333}, str(B): {"2": 1.1}}
NAMED = {"user": "u", "item": "i", "rating": "r", "time": "t"}
CATALOGUE = Catalogue([1, 2, BIG])

JSON_VALUES: list[Any] = [7, 7.0, 1.5, "x", "7", "007", True, None, [1], {"a": 1}, 1e300, 10**30, ""]
OBJECTS: list[Any] = [
    *JSON_VALUES,
    *(np.float32(3), np.int8(3), float("nan"), b"x", 1j, object(), decimal.Decimal("4.1"), "\ud800"),
    *(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), np.datetime64("NaT"), pd.NaT, 10**400),
]


def seen(ratings: Ratings) -> dict[str, dict[str, float]]:
    """Everybody's history but user 9's, with ids as text: a column of ids may come as numbers or as text."""
    found = {}
    for user in ratings.user_ids.tolist():
        history = {str(item): value for item, value in ratings.history(user).items()}
        if str(user) in EXPECTED:
            found[str(user)] = history
    return found


def odd_row(column: str, value: Any) -> dict[str, Any]:
    return {"u": 9, "i": 1, "r": 3, "t": 5, column: value}


@pytest.mark.parametrize("column", ["u", "i", "r", "t"])
@pytest.mark.parametrize("value", JSON_VALUES, ids=repr)
def test_one_row_of_ndjson_changes_no_other_user(tmp_path: Path, column: str, value: Any) -> None:
    path = tmp_path / "a.ndjson"
    for rows in ([*OTHERS, odd_row(column, value)], [odd_row(column, value), *OTHERS]):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ratings = Ratings.from_file(path, **NAMED, rating_range=(1, 5), catalogue=CATALOGUE)
        assert seen(ratings) == EXPECTED
    columns, folder = Columns("u", "i", "r", "t"), tmp_path / "blocks"
    stored = prepare(str(path), folder, columns, rating_range=(1, 5), catalogue=CATALOGUE, rules=RowRules())
    assert (stored.n_users, stored.n_ratings) == (ratings.n_users, len(ratings.items))


@pytest.mark.parametrize("column", ["u", "i", "r", "t"])
@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: ascii(type(value).__name__ + repr(value)[:20]))
def test_one_object_changes_no_other_user(column: str, value: Any) -> None:
    for rows in ([*OTHERS, odd_row(column, value)], [odd_row(column, value), *OTHERS]):
        lists = {name: [row[name] for row in rows] for name in "uirt"}
        objects = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in lists.items()})
        for frame in (lists, objects):
            ratings = Ratings.from_frame(frame, **NAMED, rating_range=(1, 5), catalogue=CATALOGUE)
            assert seen(ratings) == EXPECTED


def test_a_column_that_only_a_later_row_has_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text('{"u": 1}\n{"u": 1, "i": 2}\n')
    assert Ratings.from_file(path, user="u", item="i", allow_dropped=0.5).history(1) == {2: 1.0}
    with pytest.raises(RatingsInvalid, match="there is no column 'item'; there is u"):
        Ratings.from_file(path, user="u", item="item")


def test_dates_among_objects_sort_as_dates_and_numbers_exactly() -> None:
    times = [
        datetime.datetime(2024, 5, 1, 10),
        datetime.date(2024, 5, 1),
        pd.Timestamp("2024-05-01 09:00", tz="UTC"),
    ]
    frame = {"u": [1, 1, 1, 2], "i": [1, 1, 1, 1], "r": [5, 4, 3, 2], "t": [*times, "x"]}
    assert Ratings.from_frame(frame, **NAMED, rating_range=(1, 5), catalogue=[1]).history(1) == {1: 5.0}


def test_one_byte_does_not_decide_the_encoding_of_a_dat_file(tmp_path: Path) -> None:
    path = tmp_path / "ratings.dat"
    rows = "1::café::4::0\n2::thé::5::0\n"
    reading: dict[str, Any] = {"user": "user", "item": "item", "rating": "rating", "rating_range": (1, 5)}
    path.write_bytes(rows.encode() + "7::café::3::0\n".encode("latin-1"))
    with pytest.raises(RatingsInvalid, match=r"not UTF-8 needs its encoding \(--encoding\)"):
        Ratings.from_file(path, **reading, catalogue=["café", "thé"])
    path.write_bytes(rows.encode("latin-1"))
    told = Ratings.from_file(path, **reading, catalogue=["café", "thé"], encoding="latin-1")
    assert told.history(1) == {"café": 4.0}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quote_over_several_lines_is_refused(tmp_path: Path, end: str) -> None:
    """Two lines of user 7 would hide the lines between them."""
    path = tmp_path / "a.csv"
    lines = ["u,i,r,note", '7,"1,3,', "1,1,4,", "2,1,4,", '7,1",3,', "3,2,5,"]
    path.write_bytes(end.join([*lines, ""]).encode())
    reading: dict[str, Any] = {"rating_range": (1, 5), "catalogue": CATALOGUE}
    with pytest.raises(RatingsInvalid, match="row 1: a field goes over several lines"):
        Ratings.from_file(path, user="u", item="i", rating="r", **reading)
    with pytest.raises(RatingsInvalid, match="row 1: a field goes over several lines"):
        prepare(str(path), tmp_path / "blocks", Columns("u", "i", "r"), **reading, rules=RowRules())
    noted = ["u,i,r,note", '7,1,3,"two', 'lines"', "1,1,4,"]
    path.write_bytes(end.join([*noted, ""]).encode())
    assert Ratings.from_file(path, user="u", item="i", rating="r", **reading).n_users == 2
