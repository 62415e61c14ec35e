"""Rows that are left out: said in one sentence, and too many of them refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from discreet import Budget, ItemMean, Ratings, RatingsInvalid
from discreet.catalogue import Catalogue
from discreet.catalogue.columns import Columns
from discreet.data import prepare
from discreet.data.rules import LeftOut, RowRules, dropped_words

ROWS = {"u": [str(k) for k in range(10)], "i": ["a", "b"] * 5, "r": [1, 2, 3, 4, 5] * 2}
READ = {"user": "u", "item": "i", "rating": "r", "rating_range": (1, 5)}


def test_the_sentence_has_each_reason_that_there_is() -> None:
    words = dropped_words(2_000, LeftOut(missing=20, unknown_items=1_000))
    assert words == (
        "1,020 of 2,000 rows (51 %) are left out: 20 lack a user, an item or a number as their rating, "
        "1,000 name an item that the catalogue lacks"
    )


def test_a_catalogue_or_a_range_of_other_ratings_is_refused() -> None:
    with pytest.raises(RatingsInvalid, match=r"5 of 10 rows \(50 %\) .*5 name an item.*allow_dropped=0.5"):
        Ratings.from_frame(ROWS, **READ, catalogue=["a"])
    with pytest.raises(RatingsInvalid, match=r"4 of 10 rows .*outside the range.*allow_dropped=0.4"):
        Ratings.from_frame(ROWS, **(READ | {"rating_range": (1, 3)}), catalogue=["a", "b"])
    # Exactly what is allowed is not more.
    read = Ratings.from_frame(ROWS, **(READ | {"rating_range": (1, 4)}), catalogue=["a", "b"])
    assert (read.left_out.dropped, read.n_rows) == (2, 10)
    assert Ratings.from_frame(ROWS, **READ, catalogue=["a"], allow_dropped=0.5).n_ratings == 5
    with pytest.raises(RatingsInvalid, match="a share of the rows"):
        Ratings.from_frame(ROWS, **READ, catalogue=["a"], allow_dropped=50)


def test_ratings_on_disk_likewise_also_when_they_are_prepared_already(tmp_path: Path) -> None:
    table = tmp_path / "r.parquet"
    pl.DataFrame(ROWS).write_parquet(table)

    def read(allowed: float) -> int:
        stored = prepare(
            str(table),
            tmp_path / "blocks",
            Columns("u", "i", "r"),
            rating_range=(1.0, 5.0),
            catalogue=Catalogue(["a"]),
            rules=RowRules(allow_dropped=allowed),
        )
        return stored.n_rows

    for _ in range(2):
        with pytest.raises(RatingsInvalid, match="5 of 10 rows"):
            read(0.2)
    assert read(0.5) == 10


def test_the_statement_says_which_tables_are_refused() -> None:
    ratings = Ratings.from_frame(ROWS, **READ, catalogue=["a", "b"])
    told = " ".join(ItemMean().fit(ratings, Budget(5.0, 1e-6)).statement_.domain)
    assert "tables of which more than 20 % of the rows would be left out" in told
    assert "left out" in told
    assert "more than" not in " ".join(RowRules(allow_dropped=1.0).domain(explicit=True, listed=True))
