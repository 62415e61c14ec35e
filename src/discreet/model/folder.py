"""A model in its folder: what it says about itself, saving it once, and its table for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.catalogue import as_ids
from discreet.errors import ModelInvalid
from discreet.model import storage
from discreet.model.directory import replace_file
from discreet.model.model import Model
from discreet.privacy.statement import Statement

__all__ = ["Description", "describe", "save_once", "table_of", "write_table"]


@dataclass(frozen=True)
class Description:
    """A model folder without its arrays.

    ``items`` is the size of the catalogue, ``digest`` and ``settings_digest`` are the same on whatever day a model was
    written, and ``digests`` are those of the files.
    """

    name: str
    format: int
    method: str
    settings: dict[str, Any]
    written: storage.Written
    items: int
    statement: Statement
    digest: str
    settings_digest: str
    digests: dict[str, str]


def describe(directory: str | Path) -> Description:
    """Read and verify a model folder, its files and how they fit each other (`ModelInvalid`)."""
    parts, written, files = storage.read(directory)
    model = Model(*parts)
    return Description(
        name=Path(directory).absolute().name,
        format=storage.VERSION,
        method=model.method,
        settings=model.settings,
        written=written,
        items=len(model.catalogue),
        statement=model.statement,
        digest=storage.digest(parts, files),
        settings_digest=storage.settings_digest(model.method, model.settings),
        digests=storage.digests(files),
    )


def save_once(model: Model, out: str | Path, *, overwrite: bool) -> None:
    """Save the model, unless this very model is there already: who was killed afterwards starts again."""
    target = Path(out)
    if not overwrite and target.is_dir() and any(target.iterdir()):
        there = Model.load(target)
        if (there.catalogue, there.statement) == (
            model.catalogue,
            model.statement,
        ) and storage.item_side_to_bytes(there.item_side) == storage.item_side_to_bytes(model.item_side):
            return
        raise ModelInvalid(f"{target} already has another model; choose another name, or give --force")
    model.save(target, overwrite=overwrite)


def table_of(model: Model) -> pl.DataFrame:
    """The weights in three columns: ``item`` of a history, ``other`` item that is scored, ``weight``.

    A weight is added to the other item's score, times the opinion of the item (1 for a click). A null item stands in
    everybody's history: these rows come first, and are popularity.
    """
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
