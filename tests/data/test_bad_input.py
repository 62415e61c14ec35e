"""Every decided rule for bad input, where the rules refuse it: the first bad row and a remedy."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.data import Ratings
from discreet.errors import HistoryInvalid, RatingsInvalid

GOOD = {"u": ["a", "b", "c", "d"], "i": [1, 2, 3, 1], "r": [1.0, 2.0, 3.0, 4.0]}
STRICT: dict[str, Any] = {"missing": "error", "out_of_range": "error", "unknown_items": "error"}
RATED: dict[str, Any] = {"user": "u", "item": "i", "rating": "r", "rating_range": (1, 5), **STRICT}


def read(changes: dict[str, Any] | None = None, **reading: Any) -> Ratings:
    return Ratings.from_frame({**GOOD, **(changes or {})}, **{**RATED, **reading})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"r": [1, 2, None, None]}, "row 3: the rating is missing in column 'r'; correct or remove it"),
        ({"r": np.array([1, 2, np.nan, 9])}, "row 3: the rating in column 'r' is nan; correct or remove it"),
        ({"r": [1, np.inf, 2, 3]}, "row 2: the rating in column 'r' is inf; correct or remove it"),
        ({"r": [1, 2, -np.inf, 3]}, "row 3: the rating in column 'r' is -inf"),
        (
            {"r": [1, 2, 3, 5.5]},
            "row 4: the rating 5.5 is outside 1 to 5; correct the row, give the range",
        ),
        ({"r": [0.5, 2, 3, 5]}, "row 1: the rating 0.5 is outside 1 to 5"),
        (
            {"r": ["1", "good", "3", "4"]},
            "row 2: the rating 'good' in column 'r' is not a number; correct or remove",
        ),
        ({"r": ["1", "2", "", "4"]}, "row 3: the rating '' in column 'r' is not a number"),
        (
            {"r": [True, True, False, True]},
            "column 'r' holds Boolean, not numbers; for implicit feedback leave",
        ),
        (
            {"u": ["a", None, "c", "d"]},
            "row 2: the user is missing in column 'u'; fill it in or remove the row",
        ),
        ({"u": ["a", "b", "c", ""]}, "row 4: the user is missing in column 'u'"),
        ({"i": [1, 2, None, None]}, "row 3: the item is missing in column 'i'; fill it in or remove the row"),
        ({"i": np.array([1.0, np.nan, 2, 3])}, "row 2: the item is missing"),
        ({"i": [1, 2, 3.5, 1.5]}, "row 3: the item is missing in column 'i'"),
        (
            {"i": np.array([1, 2, 3.5, 1])},
            "column 'i': ids must be whole numbers or text, not fractions; convert",
        ),
        (
            {"u": [b"a", b"b", b"c", b"d"]},
            "column 'u': ids must be whole numbers or text, not bytes; convert",
        ),
        (
            {"u": pd.date_range("2020-01-01", periods=4)},
            "column 'u': ids must be whole numbers or text, not Date",
        ),
    ],
)
def test_bad_values_name_row_and_remedy(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RatingsInvalid) as caught:
        read(changes)
    assert message in str(caught.value)


def test_pandas_missing_values_are_found_whatever_their_type() -> None:
    for users in (pd.array([1, None, 3, 4], dtype="Int64"), pd.Series(["a", None, "c", "d"], dtype=object)):
        frame = pd.DataFrame({**GOOD, "u": users})
        with pytest.raises(RatingsInvalid, match="row 2: the user is missing"):
            Ratings.from_frame(frame, **RATED)


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"user": "users"}, "there is no column 'users'; there is u, i, r"),
        ({"rating": "rr"}, "there is no column 'rr'; there is u, i, r: did you mean 'r'?"),
        ({"item": "u"}, "user, item and rating must be different columns"),
        ({"rating_range": None}, "give rating_range=(lowest, highest), or leave the rating column out"),
        ({"rating": None}, "a rating range without a rating column: name the column, or leave the range out"),
        ({"rating_range": (5, 1)}, "the rating range 5 to 1 must be finite and rise"),
        ({"rating_range": (1, 1)}, "must be finite and rise"),
        ({"rating_range": (0, float("inf"))}, "must be finite and rise"),
        ({"rating_range": (float("nan"), 5)}, "must be finite and rise"),
        ({"rating_range": ("one", 5)}, "is not a pair of numbers"),
        ({"rating_range": 5}, "is not a pair of numbers"),
        ({"rating_range": (1, 2, 3)}, "is not a pair of numbers"),
        (
            {"duplicates": "best"},
            "duplicates is 'best'; it must be one of 'last', 'first', 'error'",
        ),
        ({"unknown_items": "keep"}, "unknown_items is 'keep'; it must be one of 'drop', 'error'"),
    ],
)
def test_bad_settings(reading: dict[str, Any], message: str) -> None:
    with pytest.raises(RatingsInvalid) as caught:
        read(**reading)
    assert message in str(caught.value)


def test_duplicate_pairs_last_wins_or_error() -> None:
    twice = {"u": ["a", "b", "a", "b"], "i": [1, 2, 1, 2]}
    assert read(twice).history("a") == {1: 3.0}
    assert read(twice).history("b") == {2: 4.0}
    with pytest.raises(
        RatingsInvalid, match="row 3: user 'a' has rated item 1 in an earlier row; keep one of them"
    ):
        read(twice, duplicates="error")


def test_items_the_catalogue_lacks() -> None:
    with pytest.raises(RatingsInvalid) as caught:
        read({"i": [1, 7, 8, 7]}, catalogue=[1, 2])
    message = (
        "row 2: item 7 is not in the catalogue (3 rows name 2 unlisted items); list it there, or leave such"
    )
    assert message in str(caught.value)
    dropped = read(catalogue=[1, 2], unknown_items="drop", allow_dropped=0.25)
    assert dropped.user_ids.tolist() == ["a", "b", "c", "d"]  # c rated only item 3 and stays, without ratings
    assert dropped.history("c") == {}
    assert dropped.n_ratings == 3
    with pytest.raises(RatingsInvalid, match="none of the rated items is in the catalogue"):
        read(catalogue=["x", "y"], unknown_items="drop")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "is empty; give a file with a header and at least one row"),
        ("a.csv", "u,i,r\n", "there are no ratings: the table is empty; give at least one row"),
        ("a.csv", "u,i,r\n\n\n", "there are no ratings"),
        ("a.csv", "user,item,rating\n1,2,3\n", "there is no column 'u'; there is user, item, rating"),
        ("a.csv", "u,i,r\n1,2,3\n1,3\n", "row 2: the rating is missing"),
        ("a.csv", "u,i,r\n1,2,3\n\n1,3,4\n", "row 2: the user is missing"),
        ("a.csv", 'u,i,r\n1,2,3\n1,"",4\n', "row 2: the item is missing"),
        ("a.csv", "u,i,r\n1,2,3\n1,3,NA\n", "row 2: the rating 'NA' in column 'r' is not a number"),
        ("a.csv", "u,i,r\n1,2,3\n1,3,4,5\n", "line 3 (4 columns, not 3) has more columns than the first one"),
        ("a.csv.gz", gzip.compress(b"u;i;r\n1;2;3\n1;3;4;5\n", mtime=0), "a line has more columns"),
        ("a.csv", 'u,i,r\n1,2,3\n1,"3,4\n', "a quotation mark is opened and not closed"),
        ("a.csv", "1,2,3\n1,3,4\n", "the first line seems to be a row already"),
        ("a.csv", "u, i,r \n1,3,4\n", "there is u, ' i', 'r ': did you mean ' i'?"),
        ("a.csv", "u\ti\tr\n1\t2\t3\n".encode("utf-16"), "utf-16 for Excel's Unicode text"),
        ("a.csv", "u,i,r\n1,\u00e9,3\n".encode("latin-1"), "cannot be read: invalid utf-8"),
        ("a.ndjson", "", "is empty"),
        ("a.ndjson", '{"u": 1, "i": 2, "r": 3}\nnot json\n', "cannot be read"),
        ("a.ndjson", '{"u": 1, "i": 2, "r": 3}\n{"u": 1, "r": 3}\n', "row 2: the item is missing"),
        ("a.parquet", "no parquet at all", "cannot be read"),
        ("a.xlsx", "x", "the extension of a.xlsx is unknown; save the sheet as CSV"),
        ("a.json", "[]", "the extension of a.json is unknown; write one object a line and call it .ndjson"),
        ("a.doc", "x", "the extension of a.doc is unknown; use .csv, .tsv, .parquet, .ndjson"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RatingsInvalid) as caught:
        Ratings.from_file(path, **RATED)
    assert message in str(caught.value)


def test_missing_files_and_things_that_are_no_ratings(tmp_path: Path) -> None:
    with pytest.raises(RatingsInvalid, match=r"there is no file .*none\.csv$"):
        Ratings.from_file(tmp_path / "none.csv", **RATED)
    (tmp_path / "ratings.csv").write_text("u,i,r\n1,2,3\n")
    with pytest.raises(RatingsInvalid, match=r"did you mean .*ratings\.csv\?"):
        Ratings.from_file(tmp_path / "rating.csv", **RATED)
    with pytest.raises(RatingsInvalid, match="there is no file"):
        Ratings.from_file(tmp_path / "nowhere" / "ratings.csv", **RATED)
    with pytest.raises(RatingsInvalid, match="cannot be read from int; give a polars, pandas or Arrow table"):
        Ratings.from_frame(5, **RATED)
    with pytest.raises(RatingsInvalid, match="there are no ratings"):
        Ratings.from_frame(pl.DataFrame(GOOD).clear(), **RATED)
    with pytest.raises(RatingsInvalid, match="the frame cannot be read"):
        Ratings.from_frame({**GOOD, "u": ["a"]}, **RATED)


@pytest.mark.parametrize(
    ("indptr", "items", "values", "message"),
    [
        ([0, 1], [0], [9.0], "none of the 1 rows can be used"),
        ([0, 1], [5], [1.0], "item indices must lie between 0 and 2"),
        ([0, 1], [-1], [1.0], "item indices must lie between 0 and 2"),
        ([0, 2], [1, 1], [1.0, 2.0], "position 1 repeats an item of the same user"),
        ([0, 2, 1], [1], [1.0], "indptr must rise from 0"),
        ([1, 1], [1], [1.0], "indptr must rise from 0"),
        ([0, 2], [1], [1.0], "indptr must rise from 0"),
        ([0], [], [], "indptr must rise from 0"),
        ([0, 1], [1], [1.0, 2.0], "equally long"),
        ([0, 1], [1.5], [1.0], "must be whole numbers"),
        ([0, 0], [], [], "there are no ratings"),
    ],
)
def test_bad_arrays(indptr: list[int], items: list[int], values: list[float], message: str) -> None:
    with pytest.raises(RatingsInvalid, match=message):
        Ratings.from_arrays(indptr, items, values, catalogue=[1, 2, 3], rating_range=(1, 5))


@pytest.mark.parametrize(
    ("users", "message"),
    [([1, 2, 3], "3 user ids for 2 rows"), ([1, 1], "gaps or repeat"), ([1.5, 2.5], "not fractions")],
)
def test_bad_ids_of_rows(users: list[Any], message: str) -> None:
    with pytest.raises(RatingsInvalid, match=message):
        Ratings.from_arrays([0, 1, 2], [0, 1], [1, 2], catalogue=None, rating_range=None, user_ids=users)


def test_an_unknown_user_has_no_history() -> None:
    for nobody in ("nobody", 17, 1.5, None):
        with pytest.raises(HistoryInvalid, match=f"there is no user {nobody!r}"):
            read().history(nobody)  # type: ignore[arg-type]
