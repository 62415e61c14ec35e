"""A table of ratings that is never held as a whole: its size, the kind of its ids, and its rows in runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from discreet.data.blocks.format import IdKind
from discreet.data.checks import Columns
from discreet.data.readers import is_query, list_files, readable, scan_files
from discreet.errors import RatingsInvalid

__all__ = ["Table", "fingerprint"]

_ROW = "row of the table"


def fingerprint(source: str) -> str:
    """Names, sizes and times of the files: another one means that they changed. A query is known by its words alone."""
    told: list[object] = ["query", source]
    if not is_query(source):
        with readable(source):
            stats = [(str(file.absolute()), file.stat()) for file in list_files(source)]
        told = ["files", *((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@dataclass(frozen=True)
class Table:
    """Rows of the named columns, read as :class:`discreet.data.ratings.Ratings` would read them, a run at a time.

    Parameters
    ----------
    source
        File, folder or pattern.
    columns
        Which column holds what.
    rows
        How many there are, blank ones at the end of a text file left out.
    user_ids, item_ids
        Whether all ids of a column are whole numbers of 64 bits, or stay text.
    """

    source: str | Path
    columns: Columns
    rows: int
    user_ids: IdKind
    item_ids: IdKind

    @classmethod
    def open(cls, source: str | Path, columns: Columns) -> Table:
        """Look through the table once."""
        typed, scan = scan_files(source, columns)
        schema = scan.collect_schema()
        asked = [pl.len().alias("rows")]
        if not typed:
            filled = ~pl.all_horizontal(pl.col(columns.names()).is_null())
            asked = [(pl.col(_ROW).filter(filled).max() + 1).fill_null(0).alias("rows")]
            scan = scan.with_row_index(_ROW)
        for name, column in (("user", columns.user), ("item", columns.item)):
            asked.append(_plain(column, schema[column], typed=typed).alias(name))
        with readable(source):
            found = scan.select(asked).collect(engine="streaming").row(0, named=True)
        kinds: list[IdKind] = ["integer" if found[name] else "text" for name in ("user", "item")]
        if not found["rows"]:
            raise RatingsInvalid("there are no ratings: the table is empty; give at least one row")
        return cls(source, columns, int(found["rows"]), *kinds)

    def runs(self, size: int, first: int = 0) -> Iterator[pl.DataFrame]:
        """The rows in order, ``size`` at a time, beginning with run ``first``."""
        _, scan = scan_files(self.source, self.columns)
        scan = scan.slice(first * size, max(self.rows - first * size, 0))
        held: list[pl.DataFrame] = []
        with readable(self.source):
            for batch in scan.collect_batches(chunk_size=size, maintain_order=True):
                held.append(batch)
                while sum(map(len, held)) >= size:
                    whole = pl.concat(held)
                    held = [whole[size:]]
                    yield self._cast(whole[:size])
        rest = pl.concat(held) if held else pl.DataFrame()
        if len(rest):
            yield self._cast(rest)

    def _cast(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Ids of the kind that all of them have: a run must not be judged by its own rows."""
        for column, kind in ((self.columns.user, self.user_ids), (self.columns.item, self.item_ids)):
            dtype = frame.schema[column]
            if kind == "text" and (dtype.is_integer() or dtype in (pl.Categorical, pl.Enum, pl.Decimal)):
                frame = frame.with_columns(pl.col(column).cast(pl.String))
            elif kind == "integer" and not dtype.is_float():
                frame = frame.with_columns(pl.col(column).cast(pl.Int64))
        return frame


def _plain(column: str, dtype: pl.DataType, *, typed: bool) -> pl.Expr:
    """Whether all ids are whole numbers of 64 bits; of a file without types, as `infer_ids` decides."""
    ids = pl.col(column)
    if not typed:
        return (ids.cast(pl.Int64, strict=False).cast(pl.String) == ids).fill_null(ids.is_null()).all()
    if dtype.is_integer() or isinstance(dtype, pl.Decimal):
        return (ids.cast(pl.Int64, strict=False).is_not_null() | ids.is_null()).all()
    return pl.lit(dtype.is_float())
