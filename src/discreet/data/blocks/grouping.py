"""Second half of preparation: the rows of a partition, sorted by user and item, and cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from discreet.catalogue import positions
from discreet.data.arrays import Arrays, arrange
from discreet.data.blocks.format import Block, Reading
from discreet.data.checks import Columns
from discreet.data.encode import weighed
from discreet.data.repeats import TIMES
from discreet.data.rules import LeftOut, RowRules
from discreet.errors import RatingsInvalid

__all__ = ["arrange_partition", "cut_blocks"]

_BLOCK_USERS = 1 << 20


def arrange_partition(rows: pl.DataFrame, reading: Reading, columns: Columns) -> tuple[Block, LeftOut]:
    """All users of a partition, in the order of their ids; and how many rows were merged, or had no weight."""
    users = rows["user"]
    user_ids = users.unique().sort()
    kept = np.flatnonzero(rows["item"].to_numpy() >= 0)
    items = rows["item"].to_numpy().astype(np.int64)
    values = rows["value"].to_numpy() if "value" in rows.columns else np.ones(len(rows))
    place = positions(users, user_ids)
    times = rows.select(TIMES)[kept] if TIMES[0] in rows.columns else None
    entries = (place[kept], items[kept], values[kept])
    arrays, repeats = arrange(*entries, len(user_ids), reading.n_items, reading.duplicates, times)
    if reading.duplicates == "error" and len(repeats):
        again = kept[repeats]
        row = int(again[np.argmin(rows["row"].to_numpy()[again])])
        raise RatingsInvalid(
            f"row {rows['row'][row] + 1}: user {users[row]!r} has rated the item in an earlier row; keep one of them, "
            "or let the last one win with duplicates='last'"
        )
    arrays, weightless = weighed(arrays, columns, RowRules(graded=reading.graded))
    return Block(arrays, user_ids), LeftOut(merged=len(repeats), weightless=weightless)


def cut_blocks(whole: Block, most: int) -> Iterator[Block]:
    """Users in order, until a block has as many ratings as it should."""
    (indptr, items, values), user_ids = whole
    start = 0
    while start < len(user_ids):
        full = int(np.searchsorted(indptr, indptr[start] + most))
        stop = max(start + 1, min(full, start + _BLOCK_USERS, len(user_ids)))
        entries = slice(int(indptr[start]), int(indptr[stop]))
        arrays = Arrays(indptr[start : stop + 1] - indptr[start], items[entries], values[entries])
        yield Block(arrays, user_ids[start:stop])
        start = stop
