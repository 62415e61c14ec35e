"""Rules for rows that cannot be used: each row is looked at alone, so one user changes nobody else's ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Budget, Popularity
from discreet.data import Ratings
from discreet.data.rules import LeftOut
from discreet.data.synthetic import market
from discreet.errors import RatingsInvalid
from discreet.privacy.statement import Statement

GOOD = "".join(f"{user},{item},{1 + (user * item) % 5}\n" for user in range(2, 9) for item in range(1, 6))
READING: dict[str, Any] = {
    "user": "u",
    "item": "i",
    "rating": "r",
    "rating_range": (1, 5),
    "allow_dropped": 1.0,
}
BAD = {
    "a 6 on a scale of 5": ("1,1,6\n", "out_of_range"),
    "below the scale": ("1,1,-0.5\n", "out_of_range"),
    "an unlisted item": ("1,77,3\n", "unknown_items"),
    "an item of another kind": ("1,x7,3\n", "unknown_items"),
    "no rating": ("1,1,\n", "missing"),
    "a text for a rating": ("1,1,good\n", "missing"),
    "not a number": ("1,1,nan\n", "missing"),
    "infinite": ("1,1,-inf\n", "missing"),
    "no item": ("1,,3\n", "missing"),
    "no user": (",1,3\n", "missing"),
    "two things wrong": ("1,,9\n", "missing"),
    "a user of another kind": ("one,1,9\n", "out_of_range"),
}


def of_others(ratings: Ratings) -> list[dict[Any, float]]:
    return [ratings.history(user) for user in ratings.user_ids if str(user) in "2345678"]


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_bad_row_changes_nothing_for_others(tmp_path: Path, case: str, place: str) -> None:
    row, reason = BAD[case]
    file = tmp_path / "ratings.csv"
    file.write_text("u,i,r\n" + (row + GOOD if place == "first" else GOOD + row))
    with_it = Ratings.from_csv(file, catalogue=range(1, 7), **READING)
    file.write_text("u,i,r\n" + GOOD)
    without = Ratings.from_csv(file, catalogue=range(1, 7), **READING)
    assert of_others(with_it) == of_others(without)
    assert len(of_others(without)) == 7
    assert with_it.n_ratings == without.n_ratings
    assert with_it.left_out == LeftOut()._replace(**{reason: 1})
    assert with_it.left_out.dropped == 1
    assert without.left_out == LeftOut()
    assert with_it.n_users - without.n_users == (0 if case == "no user" else 1)
    with pytest.raises(RatingsInvalid, match=r"row \d+: "):
        Ratings.from_csv(_written(tmp_path, row), catalogue=range(1, 7), **READING, **{reason: "error"})


def _written(folder: Path, row: str) -> Path:
    file = folder / "bad.csv"
    file.write_text("u,i,r\n" + GOOD + row)
    return file


def test_clipping() -> None:
    frame = {"u": [1, 1, 2, 2], "i": [1, 2, 1, 9], "r": [7.0, 0.0, 3.0, 99.0]}
    ratings = Ratings.from_frame(frame, catalogue=[1, 2], out_of_range="clip", **READING)
    assert ratings.history(1) == {1: 5.0, 2: 1.0}
    assert ratings.left_out == LeftOut(unknown_items=1, clipped=2)
    kept = Ratings.from_frame(frame, catalogue=[1, 2, 9], **READING)
    assert (kept.history(1), kept.history(2)) == ({}, {1: 3.0})
    assert kept.left_out == LeftOut(out_of_range=3)


def test_a_bad_row_does_not_count_as_the_last_of_its_pair() -> None:
    frame = {"u": [1, 1, 2], "i": [1, 1, 2], "r": [4.0, 9.0, 2.0]}
    assert Ratings.from_frame(frame, **READING).history(1) == {1: 4.0}


def test_without_a_catalogue_items_of_bad_rows_are_not_seen() -> None:
    frame = {"u": [1, 2, 3], "i": ["a", "b", "c"], "r": [4.0, 9.0, None]}
    ratings = Ratings.from_frame(frame, **READING)
    assert ratings.provisional_ids is not None
    assert ratings.provisional_ids.tolist() == ["a"]
    assert ratings.user_ids.tolist() == [1, 2, 3]


def test_a_table_without_any_usable_row_is_refused() -> None:
    with pytest.raises(RatingsInvalid, match="none of the 2 rows can be used: 1 lack a user"):
        Ratings.from_frame({"u": [1, 2], "i": [1, 1], "r": [None, 9.0]}, **READING)
    with pytest.raises(RatingsInvalid, match="none of the rated items is in the catalogue"):
        Ratings.from_frame({"u": [1], "i": [1], "r": [3]}, catalogue=[8, 9], **READING)


def fitted(**rules: Any) -> Statement:
    ratings = market(300, 20, 1_500, rng=0)
    assert ratings.catalogue is not None
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    frame = {"u": users, "i": ratings.catalogue.ids[ratings.items], "r": ratings.values}
    read = Ratings.from_frame(frame, catalogue=ratings.catalogue, **READING, **rules)
    return Popularity().fit(read, Budget(2.0, 1e-5)).statement_


def test_the_statement_gives_the_domain() -> None:
    text = " ".join(str(fitted()).split())
    assert "any table of ratings with at least one row that can be used" in text
    assert "ratings outside the range are left out" in text
    assert "refused as a whole" not in text
    strict = fitted(unknown_items="error", out_of_range="clip")
    told = " ".join(str(strict).split())
    assert "count as its nearer end" in told
    assert "whether there is a model depends on one row: items outside the catalogue" in told
    assert Statement.from_json(strict.to_json()) == strict
    old = strict.model_dump(mode="json")
    old.pop("domain")
    assert Statement.from_json(json.dumps(old)).domain == ()
