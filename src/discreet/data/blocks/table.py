"""A table of ratings that is never held as a whole: its size, the kind of its ids, and its rows in runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from discreet.catalogue.tables import Scan
from discreet.data.blocks.format import IdKind
from discreet.data.checks import Columns
from discreet.data.readers import (
    PLAIN_TEXT,
    TextFormat,
    check_lines,
    list_files,
    readable,
    scan_files,
)
from discreet.errors import RatingsInvalid

__all__ = ["Table", "fingerprint"]

_BATCH = 1 << 20


def fingerprint(source: str) -> str:
    """Names, sizes and times of the files of a source: another one means that they changed."""
    with readable(source):
        stats = [(str(file.absolute()), file.stat()) for file in list_files(source)]
    told = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
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
    text
        How the text of its files is written.
    """

    source: str | Path
    columns: Columns
    rows: int
    user_ids: IdKind
    item_ids: IdKind
    text: TextFormat = PLAIN_TEXT

    @classmethod
    def open(cls, source: str | Path, columns: Columns, text: TextFormat = PLAIN_TEXT) -> Table:
        """Look through the table once."""
        scan = scan_files(source, columns, None, text)
        with readable(source):
            rows, *plain = _typed(scan.table, columns) if scan.typed else _text(scan, columns)
        kinds: list[IdKind] = ["integer" if found else "text" for found in plain]
        if not rows:
            raise RatingsInvalid("there are no ratings: the table is empty; give at least one row")
        return cls(source, columns, rows, kinds[0], kinds[1], text)

    def runs(self, size: int, first: int = 0) -> Iterator[pl.DataFrame]:
        """The rows in order, ``size`` at a time, beginning with run ``first``."""
        scan = scan_files(self.source, self.columns, None, self.text).table
        done = first * size
        scan, left = scan.slice(done), self.rows - done  # a length would have to fit into 32 bits
        held: list[pl.DataFrame] = []
        with readable(self.source):
            for batch in scan.collect_batches(chunk_size=size, maintain_order=True):
                held.append(batch[: max(left, 0)])
                left -= len(batch)
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


def _typed(scan: pl.LazyFrame, columns: Columns) -> tuple[int, bool, bool]:
    """How many rows, and whether all user ids and all item ids are whole numbers of 64 bits."""
    schema = scan.collect_schema()
    # `pl.len` counts up to 2^32 alone.
    every = (pl.col(columns.user).is_null() | True).cast(pl.Int64).sum()
    plain = [
        _whole(name, schema[name]).alias(kind) for kind, name in (("u", columns.user), ("i", columns.item))
    ]
    rows, users, items = scan.select(every.alias("rows"), *plain).collect(engine="streaming").row(0)
    return int(rows), bool(users), bool(items)


def _text(scan: Scan, columns: Columns) -> tuple[int, bool, bool]:
    """The same of a file without types, blank rows at its end aside; ids as `infer_ids` decides."""
    seen = rows = 0
    users = items = True
    for batch in scan.table.collect_batches(chunk_size=_BATCH, maintain_order=True):
        if scan.typeset:
            check_lines(batch, columns, seen)
        filled = batch.select(~pl.all_horizontal(pl.col(columns.names()).is_null())).to_series().arg_true()
        rows = seen + int(filled[-1]) + 1 if len(filled) else rows
        seen += len(batch)
        found = batch.select(_written(columns.user).alias("u"), _written(columns.item).alias("i")).row(0)
        users, items = users and found[0], items and found[1]
    return rows, users, items


def _written(column: str) -> pl.Expr:
    ids = pl.col(column)
    return (ids.cast(pl.Int64, strict=False).cast(pl.String) == ids).fill_null(ids.is_null()).all()


def _whole(column: str, dtype: pl.DataType) -> pl.Expr:
    ids = pl.col(column)
    if dtype.is_integer() or isinstance(dtype, pl.Decimal):
        return (ids.cast(pl.Int64, strict=False).is_not_null() | ids.is_null()).all()
    return pl.lit(dtype.is_float())
