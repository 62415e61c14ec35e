"""The query of the manual makes the lists of `Model.recommend`, in DuckDB."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from discreet.model import Model
from discreet.model.folder import table_of, write_table
from tests.web.support.models import TABLES, make_model, random_history

MANUAL = Path(__file__).parents[2] / "docs" / "ecosystem.md"
PEOPLE = 40


def histories_of(model: Model) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(2)
    made = {f"person-{number}": random_history(model, rng) for number in range(PEOPLE)}
    return {person: history for person, history in made.items() if history}


def told(model: Model, histories: dict[str, dict[str, float]]) -> pl.DataFrame:
    rows = [(person, item, value) for person, one in histories.items() for item, value in one.items()]
    frame = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")
    opinions = model.item_side.scale.opinions(frame["value"].to_numpy())
    return frame.select("user", "item", opinion=pl.Series(opinions))


@pytest.mark.parametrize("kind", TABLES)
def test_the_query_of_the_manual_gives_the_models_lists(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (query,) = re.findall(r"```sql\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    model = make_model(kind)
    assert write_table(model, tmp_path / "table.parquet") == 300 + len(model.weights.others)
    monkeypatch.chdir(tmp_path)
    histories = histories_of(model)
    with duckdb.connect() as database:
        database.register("history", told(model, histories).to_arrow())
        rows: list[Any] = database.execute(query).fetchall()
    for person, history in histories.items():
        found = [row for row in rows if row[0] == person]
        expected = model.recommend(history, 10)
        assert [row[1] for row in found] == list(range(1, 11))
        assert [row[2] for row in found] == expected.items
        np.testing.assert_allclose([row[3] for row in found], [one.score for one in expected], rtol=1e-9)


def test_rows_without_an_item_are_popularity() -> None:
    model = make_model("Table")
    table = table_of(model)
    nobody = table.filter(pl.col("item").is_null()).sort("weight", descending=True)
    assert nobody["other"].head(10).to_list() == model.recommend({}, 10).items
    assert table.drop_nulls("item").height == len(model.weights.others)
