"""Frames of any kind in, frames of the same kind out: polars, pandas, Arrow and DuckDB.

A history is its owner's: what comes out is for the people whose rows went in.
"""

from __future__ import annotations

import importlib
from typing import Any

import polars as pl

from discreet.data.ratings import Ratings
from discreet.data.rules import UnknownItems
from discreet.model import Model

__all__ = ["histories", "like", "recommend"]


def histories(
    model: Model,
    rows: Any,
    *,
    user: str,
    item: str,
    rating: str | None = None,
    unknown_items: UnknownItems = "drop",
) -> Ratings:
    """Rows of any frame as histories for a model: over its catalogue, in its rating range."""
    scale = model.item_side.scale.range
    return Ratings.from_frame(
        rows,
        user=user,
        item=item,
        rating=rating if scale is not None else None,
        rating_range=scale,
        catalogue=model.catalogue,
        unknown_items=unknown_items,
        allow_dropped=1.0,
    )


def recommend(
    model: Model,
    rows: Any,
    *,
    user: str,
    item: str,
    rating: str | None = None,
    n: int = 10,
    unknown_items: UnknownItems = "drop",
    **options: Any,
) -> Any:
    """The ``n`` best items of every user, from that user's own rows.

    Rows are a polars, pandas or Arrow table, a DuckDB relation, or a mapping of columns. Columns ``user``, ``rank``,
    ``item`` and ``score`` come back in the same kind of frame. ``unknown_items``: rows of items that the model does not
    know; ``options``: as in :meth:`discreet.Model.recommend_batch`.
    """
    read = histories(model, rows, user=user, item=item, rating=rating, unknown_items=unknown_items)
    return like(rows, model.recommend_batch(read, n, **options))


def like(frame: Any, result: pl.DataFrame) -> Any:
    """A polars result in the kind of another frame; polars where that is a mapping or of no known kind."""
    kind = type(frame).__module__.partition(".")[0].lstrip("_")
    if kind == "pandas":
        return result.to_pandas()
    if kind == "pyarrow":
        return result.to_arrow()
    if kind == "duckdb":
        return importlib.import_module("duckdb").from_arrow(result.to_arrow())
    return result.lazy() if isinstance(frame, pl.LazyFrame) else result
