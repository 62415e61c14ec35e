"""The disk's engine over ratings in memory, for audits on synthetic ones: written, grouped, and read back."""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import polars as pl

from discreet.catalogue.columns import Columns
from discreet.data import prepare
from discreet.data.ratings import Ratings
from discreet.engines.disk import DiskEngine
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.query import Query
from discreet.model.directory import replace_file
from discreet.privacy.gaussian.totals import Total

__all__ = ["StoredEngine"]

# Small, so that there are many.
_BLOCK_RATINGS, _RUN_ROWS = 500, 800


class StoredEngine:
    """Users in blocks on a disk, one at a time. What is written is gone with the engine."""

    def __init__(self, private_half: type[PrivateHalf], ratings: Ratings) -> None:
        assert ratings.catalogue is not None
        folder = Path(mkdtemp(prefix="discreet-audit-"))
        weakref.finalize(self, shutil.rmtree, folder)
        table = folder / "ratings.parquet"
        users = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
        rows = {"user": users, "item": ratings.catalogue.ids[ratings.items], "rating": ratings.values}
        replace_file(Path(table), pl.DataFrame(rows, strict=False).write_parquet, private=True)
        stored = prepare(
            str(table),
            folder / "blocks",
            Columns("user", "item", "rating" if ratings.explicit else None),
            rating_range=ratings.rating_range,
            catalogue=ratings.catalogue,
            rules=ratings.rules,
            block_ratings=_BLOCK_RATINGS,
            run_rows=_RUN_ROWS,
        )
        self._engine = DiskEngine(private_half, stored)

    def totals(self, query: Query[Any]) -> list[Total]:
        """The blocks' totals, added up."""
        return self._engine.totals(query)
