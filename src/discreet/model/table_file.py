"""A table of weights as rows in one Parquet file, for whoever serves with something that joins and sums.

item      an item of a history; null in the rows of what everybody has
other     an item that is scored
weight    what is added to its score, times the opinion of the item (1 for a click)

A score is the sum over somebody's history, and over the null that stands in everybody's for popularity.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from discreet.model.directory import replace_file
from discreet.model.model import Model

__all__ = ["table_of", "write_table"]


def table_of(model: Model) -> pl.DataFrame:
    """The rows: popularity first, then each item's weights."""
    side = model.weights
    rows = np.repeat(np.arange(side.n_items), np.diff(side.starts))
    ids = pl.Series(
        "other",
        model.catalogue.ids if model.catalogue.ids.dtype.kind == "i" else model.catalogue.ids.tolist(),
    )
    popularity = pl.DataFrame(
        {"item": pl.Series([None] * len(ids), dtype=ids.dtype), "other": ids, "weight": side.base}
    )
    weights = pl.DataFrame(
        {
            "item": ids.gather(rows),
            "other": ids.gather(side.others),
            "weight": side.weights.astype(np.float64),
        }
    )
    return pl.concat([popularity, weights])


def write_table(model: Model, path: str | Path) -> int:
    """Write them, whole or not at all; how many there are."""
    table = table_of(model)
    replace_file(Path(path), lambda file: table.write_parquet(file), private=not model.statement.private)
    return table.height
