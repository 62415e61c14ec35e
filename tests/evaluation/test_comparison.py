"""The comparison table."""

from __future__ import annotations

import math
import statistics

import pytest
from rich.console import Console

from discreet.evaluation import Comparison


@pytest.fixture
def table() -> Comparison:
    """Two methods, one of them with three draws."""
    table = Comparison({"RMSE": 3, "test time": 1}, title="On a market")
    for draw in (0.91, 0.95, 0.90):
        table.add("private", RMSE=draw)
    table.add("mean", **{"RMSE": 1.0384, "test time": 2.0})
    return table


def test_mean_and_spread_over_draws(table: Comparison) -> None:
    assert table.mean("private", "RMSE") == pytest.approx(0.92)
    assert table.spread("private", "RMSE") == pytest.approx(statistics.stdev([0.91, 0.95, 0.90]))
    assert table.cell("private", "RMSE") == "0.920 ± 0.026"
    assert table.cell("mean", "RMSE") == "1.038"
    assert table.cell("private", "test time") == "–"
    assert math.isnan(table.mean("private", "test time"))


def test_markdown(table: Comparison) -> None:
    assert table.to_markdown().splitlines() == [
        "| method | RMSE | test time |",
        "|---|---|---|",
        "| private | 0.920 ± 0.026 | – |",
        "| mean | 1.038 | 2.0 |",
    ]


def test_terminal(table: Comparison) -> None:
    rendered = Console(width=80)
    with rendered.capture() as captured:
        rendered.print(table.to_rich())
    text = captured.get()
    assert "On a market" in text
    assert "0.920 ± 0.026" in text


def test_plain_numbers(table: Comparison) -> None:
    content = table.to_dict()
    assert content["mean"]["RMSE"] == {"mean": 1.0384, "spread": None, "draws": 1}
    assert content["private"]["test time"] == {"mean": None, "spread": None, "draws": 0}


def test_a_misspelt_column_is_refused(table: Comparison) -> None:
    with pytest.raises(ValueError, match="no column is called rmse"):
        table.add("private", rmse=1.0)
