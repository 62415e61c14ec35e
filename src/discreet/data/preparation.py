"""Preparation: a table of any size, grouped by user, into blocks on disk.

Rows are read run by run, by the code that reads them into memory, and dealt to blocks by a hash of their user. Then
each block, which fits into memory, is sorted and written. What is killed meanwhile is known as unfinished and begun
anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, infer_ids
from discreet.catalogue.packed import STANDARD_INPUT
from discreet.data.checks import Columns, check_filled, check_reading
from discreet.data.encode import Grouped, group, read_rows, refuse_all, refuse_weightless
from discreet.data.readers import (
    PLAIN_TEXT,
    TextFormat,
    check_lines,
    copy_files,
    count_filled,
    estimate_rows,
    list_files,
    needs_copy,
    readable,
    scan_files,
)
from discreet.data.rules import LeftOut, RowRules, check_dropped
from discreet.data.stored import MANIFEST, BlockEntry, Manifest, StoredRatings, StoredReading, deal
from discreet.errors import RatingsInvalid
from discreet.model.directory import remove_partial, replace_file
from discreet.private_files import private_folder

__all__ = ["block_size", "fits_into_memory", "prepare"]

_RUN_ROWS = 1 << 21
_FEWEST, _MOST, _FOR_AN_ITEM = 1 << 20, 1 << 22, 32
_BLOCKS = 256  # every run is cut into as many pieces
_WORK, _PLAIN = "unfinished", "plain"

# Bytes that training in memory may take for each row: some 70 were measured for reading clicks
# (benchmarks/results/scale.md), and ratings have values and residuals beside.
_PER_ROW = 120
# Share of the machine's memory that ratings may take before they stay on disk.
_SHARE = 0.5
_UNKNOWN = 1 << 33  # bytes, where the system does not say
_CGROUP = Path("/sys/fs/cgroup/memory.max")

Progress = Callable[[str, int, int], None]


def block_size(n_items: int) -> int:
    """Ratings of a block, about.

    Few, so that what is computed from one stays in the caches; but so many for each item that the sums over items,
    which every block adds to, are small beside them.
    """
    return max(_FEWEST, min(_FOR_AN_ITEM * n_items, _MOST))


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
        Prepared ratings of the same people: users are dealt to blocks as there, so that both are read side by side.
    progress
        Called with (stage, done, total).
    block_ratings, run_rows
        Sizes; they change how much is held at once, and nothing else. Left out, a block has a million ratings, or up
        to four where there are many items or ratings.
    """
    place = Path(folder)
    if source == STANDARD_INPUT:
        raise RatingsInvalid("standard input cannot be grouped on disk; write it to a file first")
    rating_range = check_reading(columns, rating_range, rules)
    text.check()
    reading = StoredReading(
        **columns._asdict(),
        rating_range=rating_range,
        catalogue=catalogue.digest,
        **{name: value for name, value in vars(rules).items() if name != "allow_dropped"},
        **text._asdict(),
    )
    told = _fingerprint(source)
    manifest = _finished(place, reading, told)
    if manifest is None:
        rows = estimate_rows(source)
        size = block_ratings or min(_MOST, max(block_size(len(catalogue)), rows // _BLOCKS))
        blocks = -(-rows // size) if alike is None else alike.dealt
        with _unfinished(place) as work:
            spool = _Spool(work, columns, rating_range, catalogue, rules, max(1, blocks))
            manifest = _group(place, spool, _readable(source, work, text), run_rows, reading, told, progress)
    stored = StoredRatings(place, manifest, catalogue, rules)
    check_dropped(stored.n_rows, stored.left_out, rules)
    return stored


def _fingerprint(source: str) -> str:
    """Names, sizes and times of the files of a source: another one means that they changed."""
    with readable(source):
        stats = [(str(file.absolute()), file.stat()) for file in list_files(source)]
    told = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _finished(place: Path, reading: StoredReading, source: str) -> Manifest | None:
    """What an earlier preparation made of the same table, if it came to its end."""
    if (place / MANIFEST).is_file():
        manifest = Manifest.read(place)
        if (manifest.reading, manifest.source) != (reading, source):
            raise RatingsInvalid(
                f"{place} has ratings that were read from another file, or otherwise, or that changed since; give "
                "another folder, or remove this one"
            )
        shutil.rmtree(place / _WORK, ignore_errors=True)
        return manifest
    if place.exists() and not (place / _WORK).is_dir() and (not place.is_dir() or any(place.iterdir())):
        raise RatingsInvalid(f"{place} has other things in it; give another folder for the prepared ratings")
    return None


@contextmanager
def _unfinished(place: Path) -> Iterator[Path]:
    """A folder that says, for as long as it is there, that blocks are not whole; a failure leaves no block."""
    work, there = place / _WORK, place.exists()
    _remove(place)
    private_folder(place)
    private_folder(work)
    try:
        yield work
    except BaseException:
        _remove(place)
        if not there:
            place.rmdir()
        raise
    shutil.rmtree(work)


def _remove(place: Path) -> None:
    for block in place.glob("block-*.parquet"):
        block.unlink()
    remove_partial(place)
    shutil.rmtree(place / _WORK, ignore_errors=True)


def _readable(source: str, work: Path, text: TextFormat) -> tuple[str | Path, TextFormat]:
    """Where the rows can be read a part at a time: in the files themselves, or in plain copies of them."""
    if not needs_copy(source, text):
        return source, text
    private_folder(work / _PLAIN)
    copy_files(source, text, work / _PLAIN)
    return work / _PLAIN, text._replace(encoding=None)


@dataclass
class _Spool:
    """Rows that were read, in runs on disk, each run in the order of the blocks that its users are dealt to."""

    folder: Path
    columns: Columns
    rating_range: tuple[float, float] | None
    catalogue: Catalogue
    rules: RowRules
    blocks: int
    rows: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)
    first_item: object = None
    kind: pl.DataType = field(default_factory=pl.Int64)
    """Of all user ids: whole numbers, or text as soon as one of them is."""
    starts: list[list[int]] = field(default_factory=list)

    def add(self, frame: pl.DataFrame) -> None:
        """Read rows by the rules, each by itself, and write them as one run."""
        rows = read_rows(frame, self.columns, self.rating_range, self.catalogue, self.rules, self.rows)
        if not self.rows:
            self.first_item = rows.items[0]
        self.kind = rows.users.dtype if rows.users.dtype == pl.String else self.kind
        dealt = {"user": rows.users, "item": np.where(rows.out, -1, rows.place).astype(np.int32)}
        if self.columns.rating is not None or self.columns.weight is not None:
            dealt["value"] = rows.values
        if rows.times is not None:
            dealt |= rows.times.to_dict()
        if self.rules.duplicates == "error":
            dealt["row"] = np.arange(self.rows, self.rows + frame.height)
        number = np.where(rows.nobody, self.blocks, deal(rows.users, self.blocks))
        order = np.argsort(number, kind="stable")
        run = pl.DataFrame(dealt)[order]
        replace_file(self._run(len(self.starts)), lambda file: run.write_ipc(file), private=True)
        self.starts.append(np.searchsorted(number[order], np.arange(self.blocks + 1)).tolist())
        self.rows += frame.height
        self.left_out = LeftOut(*(one + more for one, more in zip(self.left_out, rows.left_out, strict=True)))

    def take(self, block: int) -> Grouped:
        """All rows of a block, in the order of the table, grouped by user."""
        parts = []
        for run, starts in enumerate(self.starts):
            here, end = starts[block : block + 2]
            if end > here:
                part = pl.scan_ipc(self._run(run)).slice(here, end - here).collect()
                parts.append(part.with_columns(pl.col("user").cast(self.kind)))
        if not parts:
            parts = [pl.scan_ipc(self._run(0)).head(0).collect()]
        rows = pl.concat(parts)
        times = rows.drop("user", "item", "value", "row", strict=False)
        return group(
            rows["user"],
            rows["item"].cast(pl.Int64).to_numpy(),
            rows["value"].to_numpy() if "value" in rows.columns else np.ones(rows.height),
            times if self.columns.time is not None else None,
            self.catalogue.ids,
            self.columns,
            self.rules,
            rows["row"].to_numpy() if "row" in rows.columns else None,
        )

    def _run(self, number: int) -> Path:
        return self.folder / f"{number:05}.arrow"


def _group(
    place: Path,
    spool: _Spool,
    table: tuple[str | Path, TextFormat],
    run_rows: int,
    reading: StoredReading,
    told: str,
    progress: Progress | None,
) -> Manifest:
    report = progress or (lambda stage, done, total: None)
    report("reading", 0, 1)
    for frame in _runs(*table, spool.columns, run_rows):
        spool.add(frame)
    report("reading", 1, 1)
    check_filled(spool.rows)
    left_out = spool.left_out
    if left_out.dropped == spool.rows:
        refuse_all(spool.rows, spool.first_item, left_out)
    blocks: list[BlockEntry] = []
    for number in range(spool.blocks):
        report("grouping", number, spool.blocks)
        users = spool.take(number)
        left_out = left_out._replace(
            merged=left_out.merged + users.merged, weightless=left_out.weightless + users.weightless
        )
        if len(users.user_ids):
            blocks.append(_write(place, number, users, rated=reading.rating_range is not None))
    report("grouping", spool.blocks, spool.blocks)
    if reading.weight is not None and not any(entry.ratings for entry in blocks):
        refuse_weightless()
    manifest = Manifest(reading=reading, source=told, dealt=spool.blocks, left_out=left_out, blocks=blocks)
    content = manifest.model_dump_json(indent=1).encode()
    replace_file(place / MANIFEST, lambda file: file.write(content), private=True)
    return manifest


def _runs(source: str | Path, text: TextFormat, columns: Columns, size: int) -> Iterator[pl.DataFrame]:
    """The rows in order, about so many at a time, without those blank ones that end a text file."""
    scan = scan_files(source, columns, None, text)
    seen, held = 0, pl.DataFrame()
    with readable(source):
        for batch in scan.table.collect_batches(chunk_size=size, maintain_order=True):
            if scan.typeset:
                check_lines(batch, columns, seen)
            seen += batch.height
            frame = pl.concat([held, batch]) if held.height else batch
            end = frame.height if scan.typed else count_filled(frame)
            held = frame[end:]
            if end:
                ids = [] if scan.typed else [infer_ids(frame[name]) for name in (columns.user, columns.item)]
                yield frame.with_columns(ids)[:end]


def _write(place: Path, number: int, users: Grouped, *, rated: bool) -> BlockEntry:
    """One row for each rating, by user and item; one without an item for a user who has none."""
    (_, items, values), counts = users.arrays, np.diff(users.arrays.indptr)
    filled = np.repeat(counts > 0, np.maximum(counts, 1))

    def column(entries: npt.NDArray[Any]) -> pl.Series:
        spread = np.zeros(len(filled), entries.dtype)
        spread[filled] = entries
        return pl.Series(spread).set(pl.Series(~filled), None)

    rows = np.repeat(np.arange(len(counts)), np.maximum(counts, 1))
    table = {"user": users.user_ids.gather(rows), "item": column(items)}
    if rated:
        table["rating"] = column(values)
    file = io.BytesIO()
    frame = pl.DataFrame(table)
    frame.write_parquet(file, compression="lz4", statistics=False, row_group_size=max(1, frame.height))
    content = file.getvalue()
    entry = BlockEntry(
        number=number,
        users=len(users.user_ids),
        ratings=len(items),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    replace_file(place / entry.file, lambda out: out.write(content), private=True)
    return entry


def fits_into_memory(source: str) -> bool:
    """Whether training on a source would take no more than half of the memory; a guess, from the size of its files."""
    if source == STANDARD_INPUT:
        return True  # how many rows there are is known when all have come
    return _PER_ROW * estimate_rows(source) <= _SHARE * _memory()


def _memory() -> int:
    """Bytes of the machine, or those that this process may have of it."""
    if not hasattr(os, "sysconf"):  # Windows
        return _UNKNOWN
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(whole, int(_CGROUP.read_text()))
    except (OSError, ValueError):  # no limit, or none that is told
        return whole
