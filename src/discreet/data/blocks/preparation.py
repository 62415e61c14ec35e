"""Preparation: a table of any size, grouped by user, into blocks; what was killed goes on where it stopped.

Rows are dealt to partitions by a hash of their user (:mod:`discreet.data.blocks.spool`), and each partition, which
fits into memory, is sorted and written as blocks. Every file appears whole or not at all, and everything follows from
the table and from how it is read, so it does not matter where a preparation was stopped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict

from discreet.catalogue import Catalogue
from discreet.catalogue.packed import STANDARD_INPUT
from discreet.data.blocks.format import (
    MANIFEST,
    BlockEntry,
    IdKind,
    Manifest,
    Reading,
    write_block,
    write_json,
)
from discreet.data.blocks.grouping import arrange_partition, cut_blocks
from discreet.data.blocks.sizes import block_size, partition_count
from discreet.data.blocks.spool import Spool
from discreet.data.blocks.stored import StoredRatings
from discreet.data.blocks.table import Table, fingerprint
from discreet.data.checks import Columns, check_reading
from discreet.data.encode import refuse_all, refuse_weightless
from discreet.data.readers import PLAIN_TEXT, TextFormat, copy_files, needs_copy
from discreet.data.rules import RowRules, check_dropped
from discreet.errors import RatingsInvalid
from discreet.model.directory import remove_partial
from discreet.private_files import private_folder

__all__ = ["prepare"]

_RUN_ROWS = 1 << 21
_PLAN, _PLAIN, _RUNS = "preparation.json", "plain", "runs"

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
    merged: int = 0
    weightless: int = 0


def prepare(
    source: str,
    folder: str | Path,
    columns: Columns,
    *,
    rating_range: tuple[float, float] | None,
    catalogue: Catalogue,
    rules: RowRules,
    alike: StoredRatings | None = None,
    text: TextFormat = PLAIN_TEXT,
    progress: Progress | None = None,
    block_ratings: int | None = None,
    run_rows: int = _RUN_ROWS,
) -> StoredRatings:
    """Group a table by user, out of core, unless the folder has it already.

    Parameters
    ----------
    source
        CSV, TSV, Parquet or NDJSON: a file, a folder or a pattern.
    folder
        Where the blocks go: one that does not exist, or that an earlier preparation made.
    columns, rating_range, catalogue, rules, text
        As in `Ratings.from_file`; rows are read alike, to the last bit.
    alike
        Prepared ratings of the same people: users are dealt to partitions as there, so that both are read side by side.
    progress
        Called with (stage, done, total).
    block_ratings, run_rows
        Sizes; they change how much is held at once, and nothing else. Left out, a block has a million ratings, or up
        to four where there are many items.
    """
    place = Path(folder)
    remove_partial(place)
    if source == STANDARD_INPUT:
        raise RatingsInvalid("standard input cannot be grouped on disk; write it to a file first")
    rating_range = check_reading(columns, rating_range, rules)
    text.check()
    reading = Reading(
        **columns._asdict(),
        rating_range=rating_range,
        catalogue=catalogue.digest,
        n_items=len(catalogue),
        **{name: value for name, value in vars(rules).items() if name != "allow_dropped"},
        **text._asdict(),
    )
    if block_ratings is None:
        block_ratings = block_size(len(catalogue))
    told = fingerprint(source)
    known = _finished(place, reading, told)
    if known is None:
        plan = _planned(place, source, told, columns, reading, text, (block_ratings, run_rows), alike)
        path, text = _readable(place, source, text)
        table = Table(path, columns, plan.rows, plan.user_ids, plan.item_ids, text)
        spool = Spool(place / _RUNS, table, rating_range, catalogue, rules, plan.partitions, plan.run_rows)
        known = _group(place, plan, spool, table, progress)
    stored = StoredRatings(place, known, catalogue, rules)
    check_dropped(stored.n_rows, stored.left_out, rules)
    return stored


def _finished(place: Path, reading: Reading, source: str) -> Manifest | None:
    if place.exists() and not (place / MANIFEST).is_file() and not (place / _PLAN).is_file():
        if not place.is_dir() or any(not _early(file) for file in place.iterdir()):
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


def _early(file: Path) -> bool:
    """Whether this is what a preparation makes before its plan."""
    return file.name.removeprefix("partial-") == _PLAIN


def _readable(place: Path, source: str, text: TextFormat) -> tuple[str | Path, TextFormat]:
    """Where the rows can be read a part at a time: in the files themselves, or in what was made of them."""
    if needs_copy(source, text):
        return place / _PLAIN, text._replace(encoding=None)
    return source, text


def _made_readable(place: Path, source: str, text: TextFormat) -> tuple[str | Path, TextFormat]:
    path, text_there = _readable(place, source, text)
    if path == place / _PLAIN:
        fresh = place / f"partial-{_PLAIN}"
        for folder in (fresh, place / _PLAIN):
            shutil.rmtree(folder, ignore_errors=True)
        private_folder(fresh)
        copy_files(source, text, fresh)
        fresh.replace(path)
    return path, text_there


def _planned(
    place: Path,
    source: str,
    told: str,
    columns: Columns,
    reading: Reading,
    text: TextFormat,
    sizes: tuple[int, int],
    alike: StoredRatings | None,
) -> _Plan:
    """The plan that is there, if it is about the same table; else a new one, and nothing else is left."""
    block_ratings, run_rows = sizes
    if (place / _PLAN).is_file():
        plan = _Plan.model_validate_json((place / _PLAN).read_bytes())
        asked = (reading, told, block_ratings, run_rows, pl.__version__)
        same = (plan.reading, plan.source, plan.block_ratings, plan.run_rows, plan.polars) == asked
        if same and (alike is None or alike.partitions == plan.partitions):
            return plan
        _clear(place)
    private_folder(place)
    path, text = _made_readable(place, source, text)
    table = Table.open(path, columns, text)
    plan = _Plan(
        reading=reading,
        source=told,
        rows=table.rows,
        user_ids=table.user_ids if alike is None else alike.id_kind_for(table.user_ids),
        item_ids=table.item_ids,
        partitions=partition_count(table.rows, block_ratings) if alike is None else alike.partitions,
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
    parts: list[_Done] = []
    for number in range(plan.partitions):
        report("grouping", number, plan.partitions)
        parts.append(_partition(place, number, plan, spool, table.columns))
    report("grouping", plan.partitions, plan.partitions)
    blocks = [entry for part in parts for entry in part.blocks]
    if plan.reading.weight is not None and not any(entry.ratings for entry in blocks):
        refuse_weightless()
    manifest = Manifest(
        reading=plan.reading,
        source=plan.source,
        user_ids=plan.user_ids,
        partitions=plan.partitions,
        left_out=left_out[:4],
        blocks=blocks,
        merged=sum(part.merged for part in parts),
        weightless=sum(part.weightless for part in parts),
    )
    write_json(place / MANIFEST, manifest)
    _clean(place)
    return manifest


def _partition(place: Path, number: int, plan: _Plan, spool: Spool, columns: Columns) -> _Done:
    """The blocks of a partition, written unless they are there."""
    note = place / f"partition-{number:05}.json"
    if note.is_file():
        return _Done.model_validate_json(note.read_bytes())
    rated = plan.reading.rating_range is not None
    whole, counted = arrange_partition(spool.partition(number), plan.reading, columns)
    entries = [
        write_block(place, f"block-{number:05}-{part:03}.safetensors", block, rated=rated)
        for part, block in enumerate(cut_blocks(whole, plan.block_ratings))
    ]
    done = _Done(blocks=entries, merged=counted.merged, weightless=counted.weightless)
    write_json(note, done)
    return done


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
    for folder in (_RUNS, _PLAIN):
        shutil.rmtree(place / folder, ignore_errors=True)
    for file in (*place.glob("partition-*.json"), place / _PLAN):
        file.unlink(missing_ok=True)
