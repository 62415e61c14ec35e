"""A model's numbers in files of other programs' kinds.

`write_table`, of a table of weights, is one Parquet file for whoever serves with something that joins and sums:

    item      an item of a history; null in the rows of what everybody has
    other     an item that is scored
    weight    what is added to its score, times the opinion of the item (1 for a click)

A score is the sum over somebody's history, and over the null that stands in everybody's for popularity.

`write_arrays`, of factors, is one ``.npz``: ``ids``, ``design`` (items x (1 + rank)), ``level`` (one number an item),
and ``offsets``, ``factors``, ``popularity``, what these were made of. What orders a list for a user is
``design @ coefficients + level``. With ``level`` as one more column, and a 1 as one more coefficient, it is the inner
product that indices such as faiss and usearch search by.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import as_ids
from discreet.model.directory import replace_file
from discreet.model.model import Model

__all__ = ["arrays_of", "table_of", "write_arrays", "write_table"]


def table_of(model: Model) -> pl.DataFrame:
    """The rows: popularity first, then each item's weights."""
    side, ids = model.weights, as_ids(model.catalogue.ids)
    rows = np.repeat(np.arange(side.n_items), np.diff(side.starts))
    nobody = pl.Series([None] * len(ids), dtype=ids.dtype)
    popularity = pl.DataFrame({"item": nobody, "other": ids, "weight": side.base})
    weights = {"item": ids.gather(rows), "other": ids.gather(side.others)}
    return pl.concat([popularity, pl.DataFrame(weights | {"weight": side.weights.astype(np.float64)})])


def write_table(model: Model, path: str | Path) -> int:
    """Write them, whole or not at all; how many there are."""
    table = table_of(model)
    replace_file(Path(path), lambda file: table.write_parquet(file), private=not model.statement.private)
    return table.height


def arrays_of(model: Model) -> dict[str, npt.NDArray[Any]]:
    """The arrays by name; none of them needs pickle."""
    side, ids = model.factors, model.catalogue.ids
    design, level = side.order_terms
    named = {"ids": ids if ids.dtype.kind == "i" else ids.astype(str), "design": design, "level": level}
    named |= {"offsets": side.offsets, "factors": side.factors}
    return named | ({} if side.popularity is None else {"popularity": side.popularity})


def write_arrays(model: Model, path: str | Path) -> dict[str, list[int]]:
    """Write them, whole or not at all; the shape of each."""
    arrays = arrays_of(model)
    replace_file(
        Path(path),
        lambda file: np.savez(file, allow_pickle=False, **arrays),
        private=not model.statement.private,
    )
    return {name: list(array.shape) for name, array in arrays.items()}
