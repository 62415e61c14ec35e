"""Tables, findings and results as they are handed back."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reproduction.result import Column, Result, Table

COLUMNS = (Column("method"), Column("RMSE", "stars", 3), Column("users"))


def table(**options: object) -> Table:
    rows = [
        {"method": "a | b", "RMSE": np.float64(0.98765), "users": np.int64(12_345)},
        {"method": "c", "RMSE": math.nan},
    ]
    return Table("Errors", COLUMNS, rows, **options)  # type: ignore[arg-type]


def test_markdown_is_rounded_escaped_and_dashed() -> None:
    lines = table().to_markdown().splitlines()
    assert lines == [
        "| method | RMSE (stars) | users |",
        "|---|---|---|",
        r"| a \| b | 0.988 | 12,345 |",
        "| c | – | – |",
    ]


@pytest.mark.parametrize("keys", [["main"], ["", ""], []])
def test_tables_must_have_names_of_their_own(keys: list[str]) -> None:
    with pytest.raises(ValueError, match="key"):
        Result([table(key=key) for key in keys], [])
