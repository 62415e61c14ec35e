"""Frames of every kind in, the same kind out, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import Ratings
from discreet.ecosystem.frames import recommend
from tests.ecosystem.conftest import World

KINDS: dict[type, Callable[[pl.DataFrame], Any]] = {
    pl.DataFrame: lambda frame: frame,
    pl.LazyFrame: lambda frame: frame.lazy(),
    pd.DataFrame: lambda frame: frame.to_pandas(),
    pa.Table: lambda frame: frame.to_arrow(),
    duckdb.DuckDBPyRelation: lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_recommendations_come_in_the_kind_of_the_histories(world: World, kind: type) -> None:
    rows = world.history.to_polars()
    found = recommend(world.model, KINDS[kind](rows), user="user", item="item", rating="rating", n=5)
    assert isinstance(found, kind)
    plain = found.pl() if kind is duckdb.DuckDBPyRelation else found
    plain = plain.collect() if isinstance(plain, pl.LazyFrame) else pl.DataFrame(plain)
    wanted = world.model.recommend_batch(world.history, 5)
    assert plain.select("user", "item").rows() == wanted.select("user", "item").rows()
    assert plain["score"].to_list() == pytest.approx(wanted["score"].to_list(), rel=1e-12)


def test_ratings_go_out_and_come_back(world: World) -> None:
    back = Ratings.from_frame(
        world.history.to_polars(),
        user="user",
        item="item",
        rating="rating",
        rating_range=world.history.rating_range,
        catalogue=world.model.catalogue,
    )
    assert back.items.tolist() == world.history.items.tolist()
    assert back.values.tolist() == world.history.values.tolist()
    clicks = Ratings.from_frame({"u": [1], "i": [2]}, user="u", item="i").to_polars()
    assert clicks.columns == ["user", "item"]
