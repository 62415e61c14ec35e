"""Preparation: a table of any size, grouped by user, into blocks; what was killed goes on where it stopped.

Rows are dealt to partitions by a hash of their user (:mod:`discreet.data.blocks.spool`), and each partition, which
fits into memory, is sorted and written as blocks. Every file appears whole or not at all, and everything follows from
the table and from how it is read, so it does not matter where a preparation was stopped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict

from discreet.catalogue import Catalogue, positions
from discreet.data.blocks.format import (
    MANIFEST,
    Block,
    BlockEntry,
    IdKind,
    Manifest,
    Reading,
    write_block,
    write_json,
)
from discreet.data.blocks.spool import Spool
from discreet.data.blocks.stored import StoredRatings
from discreet.data.blocks.table import Table, fingerprint
from discreet.data.checks import Columns, check_range
from discreet.data.encode import Arrays, arrange, refuse_all
from discreet.data.readers import is_query, write_query
from discreet.data.rules import RowRules
from discreet.errors import RatingsInvalid
from discreet.model.directory import remove_partial

__all__ = ["BLOCK_RATINGS", "prepare"]

BLOCK_RATINGS = 1 << 22
"""Ratings of a block: what a pass over the ratings holds a few of, and works on at once."""
_BLOCK_USERS = 1 << 20
_RUN_ROWS = 1 << 21
_PLAN, _QUERY, _RUNS = "preparation.json", "query.parquet", "runs"

Progress = Callable[[str, int, int], None]


class _Plan(BaseModel):
    """What a preparation works out first; one that is resumed goes by it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reading: Reading
    source: str
    rows: int
    user_ids: IdKind
    item_ids: IdKind
    partitions: int
    run_rows: int
    block_ratings: int
    polars: str


class _Done(BaseModel):
    """A partition that is finished."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    blocks: list[BlockEntry]


def prepare(
    source: str,
    folder: str | Path,
    columns: Columns,
    *,
    rating_range: tuple[float, float] | None,
    catalogue: Catalogue,
    rules: RowRules,
    progress: Progress | None = None,
    block_ratings: int = BLOCK_RATINGS,
    run_rows: int = _RUN_ROWS,
) -> StoredRatings:
    """Group a table by user, out of core, unless the folder has it already.

    Parameters
    ----------
    source
        CSV, TSV, Parquet or NDJSON: a file, a folder or a pattern; or a DuckDB query.
    folder
        Where the blocks go: one that does not exist, or that an earlier preparation made.
    columns, rating_range, catalogue, rules
        As in `Ratings.from_frame`; rows are read alike, to the last bit.
    progress
        Called with (stage, done, total).
    block_ratings, run_rows
        Sizes; they change how much is held at once, and nothing else.
    """
    place = Path(folder)
    remove_partial(place)
    rating_range = check_range(rating_range, columns.rating is not None)
    reading = Reading(
        **columns._asdict(),
        rating_range=rating_range,
        catalogue=catalogue.digest,
        n_items=len(catalogue),
        **vars(rules),
    )
    known = _finished(place, reading, fingerprint(source))
    if known is None:
        plan = _planned(place, source, columns, reading, block_ratings, run_rows)
        path = place / _QUERY if is_query(source) else source
        table = Table(path, columns, plan.rows, plan.user_ids, plan.item_ids)
        spool = Spool(place / _RUNS, table, rating_range, catalogue, rules, plan.partitions, plan.run_rows)
        known = _group(place, plan, spool, table, progress)
    return StoredRatings(place, known, catalogue, rules)


def _finished(place: Path, reading: Reading, source: str) -> Manifest | None:
    if place.exists() and not (place / MANIFEST).is_file() and not (place / _PLAN).is_file():
        if not place.is_dir() or any(not file.name.endswith(_QUERY) for file in place.iterdir()):
            raise RatingsInvalid(
                f"{place} has other things in it; give another folder for the prepared ratings"
            )
        return None
    if not (place / MANIFEST).is_file():
        return None
    manifest = Manifest.read(place)
    if (manifest.reading, manifest.source) != (reading, source):
        raise RatingsInvalid(
            f"{place} has ratings that were read from another file, or otherwise, or that changed since; give "
            "another folder, or remove this one"
        )
    _clean(place)
    return manifest


def _planned(
    place: Path, source: str, columns: Columns, reading: Reading, block_ratings: int, run_rows: int
) -> _Plan:
    """The plan that is there, if it is about the same table; else a new one, and nothing else is left."""
    told = fingerprint(source)
    if (place / _PLAN).is_file():
        plan = _Plan.model_validate_json((place / _PLAN).read_bytes())
        asked = (reading, told, block_ratings, run_rows, pl.__version__)
        if (plan.reading, plan.source, plan.block_ratings, plan.run_rows, plan.polars) == asked:
            return plan
        _clear(place)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    path: str | Path = source
    if is_query(source):
        fresh, path = place / f"partial-{_QUERY}", place / _QUERY
        write_query(source, columns, fresh)
        fresh.replace(path)
    table = Table.open(path, columns)
    plan = _Plan(
        reading=reading,
        source=told,
        rows=table.rows,
        user_ids=table.user_ids,
        item_ids=table.item_ids,
        partitions=-(-table.rows // block_ratings),
        run_rows=run_rows,
        block_ratings=block_ratings,
        polars=pl.__version__,
    )
    write_json(place / _PLAN, plan)
    return plan


def _group(place: Path, plan: _Plan, spool: Spool, table: Table, progress: Progress | None) -> Manifest:
    report = progress or (lambda stage, done, total: None)
    report("reading", 0, 1)
    spool.fill()
    report("reading", 1, 1)
    left_out = spool.left_out()
    if left_out.dropped == plan.rows:
        first = next(table.runs(1))[table.columns.item][0]
        refuse_all(plan.rows, first, left_out)
    blocks: list[BlockEntry] = []
    for number in range(plan.partitions):
        report("grouping", number, plan.partitions)
        blocks += _partition(place, number, plan, spool)
    report("grouping", plan.partitions, plan.partitions)
    manifest = Manifest(
        reading=plan.reading,
        source=plan.source,
        user_ids=plan.user_ids,
        left_out=left_out,
        blocks=blocks,
    )
    write_json(place / MANIFEST, manifest)
    _clean(place)
    return manifest


def _partition(place: Path, number: int, plan: _Plan, spool: Spool) -> list[BlockEntry]:
    """The blocks of a partition, written unless they are there."""
    note = place / f"partition-{number:05}.json"
    if note.is_file():
        return _Done.model_validate_json(note.read_bytes()).blocks
    rated = plan.reading.rating is not None
    entries = [
        write_block(place, f"block-{number:05}-{part:03}.safetensors", block, rated=rated)
        for part, block in enumerate(_blocks(_arranged(spool.partition(number), plan), plan.block_ratings))
    ]
    write_json(note, _Done(blocks=entries))
    return entries


def _arranged(rows: pl.DataFrame, plan: _Plan) -> Block:
    """All users of a partition, in the order of their ids."""
    users = rows["user"]
    user_ids = users.unique().sort()
    kept = np.flatnonzero(rows["item"].to_numpy() >= 0)
    items = rows["item"].to_numpy().astype(np.int64)
    values = rows["value"].to_numpy() if "value" in rows.columns else np.ones(len(rows))
    place = positions(users, user_ids)
    arrays, repeats = arrange(place[kept], items[kept], values[kept], len(user_ids), plan.reading.n_items)
    if plan.reading.duplicates == "error" and len(repeats):
        again = kept[repeats]
        row = int(again[np.argmin(rows["row"].to_numpy()[again])])
        raise RatingsInvalid(
            f"row {rows['row'][row] + 1}: user {users[row]!r} has rated the item in an earlier row; keep one of them, "
            "or let the last one win with duplicates='last'"
        )
    return Block(arrays, user_ids)


def _blocks(whole: Block, most: int) -> Iterator[Block]:
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


def _clear(place: Path) -> None:
    """Remove a preparation that was about something else; its plan goes last, so that the rest stays known as one."""
    for file in place.iterdir():
        if file.is_dir():
            shutil.rmtree(file)
        elif file.name != _PLAN:
            file.unlink()
    (place / _PLAN).unlink()


def _clean(place: Path) -> None:
    """Remove what only a preparation that goes on would need."""
    shutil.rmtree(place / _RUNS, ignore_errors=True)
    for file in (*place.glob("partition-*.json"), place / _QUERY, place / _PLAN):
        file.unlink(missing_ok=True)
