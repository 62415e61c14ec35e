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
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from discreet.catalogue import Catalogue, infer_ids
from discreet.catalogue.columns import PLAIN_TEXT, Columns, TextFormat
from discreet.catalogue.tables import PACKED, STANDARD_INPUT, is_plain
from discreet.data.readers import check_lines, count_filled, list_files, readable, scan_files
from discreet.data.rows import Arrays, check_reading, check_used, group, read_rows
from discreet.data.rules import LeftOut, RowRules, check_dropped
from discreet.data.stored import MANIFEST, BlockEntry, Manifest, StoredRatings, StoredReading, deal
from discreet.errors import RatingsInvalid
from discreet.model.directory import remove_partial, replace_file
from discreet.private_files import private_folder

__all__ = ["block_size", "fits_into_memory", "prepare"]

_RUN_ROWS = 1 << 21
_FEWEST, _MOST, _FOR_AN_ITEM = 1 << 20, 1 << 22, 32
_BLOCKS = 256  # every run is cut into as many pieces
_WORK = "unfinished"

# Bytes of a row of text, and of one that is packed: few, so that nothing is taken for smaller than it is.
_ROW, _ROW_PACKED = 12, 3
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
    source, columns, rating_range, catalogue, rules, text
        As in `Ratings.from_file`; rows are read alike, to the last bit.
    folder
        Where the blocks go: one that does not exist, or that an earlier preparation made.
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
    reading = StoredReading(
        columns=columns,
        rating_range=rating_range,
        catalogue=catalogue.digest,
        rules=rules,
        text=text,
    )
    told = _fingerprint(source, text)
    manifest = _finished(place, reading, told)
    if manifest is None:
        rows = _estimate_rows(source)
        size = block_ratings or min(_MOST, max(block_size(len(catalogue)), rows // _BLOCKS))
        blocks = -(-rows // size) if alike is None else alike.dealt
        with _unfinished(place) as work:
            spool = _Spool(work, columns, rating_range, catalogue, rules, max(1, blocks))
            manifest = _group(place, spool, _runs(source, text, columns, run_rows), reading, told, progress)
    stored = StoredRatings(place, manifest, catalogue, rules)
    check_dropped(stored.n_rows, stored.left_out, rules)
    return stored


def _fingerprint(source: str, text: TextFormat) -> str:
    """Names, sizes and times of the files of a source: another one means that they changed."""
    with readable(source):
        files = list_files(source)
        stats = [(str(file.absolute()), file.stat()) for file in files]
        packed = [file.name for file in files if not is_plain(file, text.encoding)]
    if packed:
        raise RatingsInvalid(
            f"{packed[0]} cannot be grouped on disk as it is; unpack it, or put it into UTF-8, or hold it in memory "
            "(--engine memory)"
        )
    told = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _finished(place: Path, reading: StoredReading, source: str) -> Manifest | None:
    """What an earlier preparation made of the same table, if it came to its end."""
    if (place / MANIFEST).is_file():
        manifest = Manifest.read(place)
        allowed = replace(reading.rules, allow_dropped=manifest.reading.rules.allow_dropped)  # changes no row
        reading = reading.model_copy(update={"rules": allowed})
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
            self.first_item = rows.first_item
        users = rows.table["user"]
        self.kind = users.dtype if users.dtype == pl.String else self.kind
        number = deal(users, self.blocks)
        order = np.argsort(number, kind="stable")
        run = rows.table[order]
        replace_file(self._run(len(self.starts)), lambda file: run.write_ipc(file), private=True)
        self.starts.append(np.searchsorted(number[order], np.arange(self.blocks + 1)).tolist())
        self.rows += frame.height
        self.left_out = LeftOut(*(one + more for one, more in zip(self.left_out, rows.left_out, strict=True)))

    def take(self, block: int) -> tuple[Arrays, pl.Series, int]:
        """All rows of a block, in the order of the table, grouped by user."""
        parts = []
        for run, starts in enumerate(self.starts):
            here, end = starts[block : block + 2]
            if end > here or not run:
                part = pl.scan_ipc(self._run(run)).slice(here, end - here).collect()
                parts.append(part.with_columns(pl.col("user").cast(self.kind)))
        return group(pl.concat(parts), self.catalogue.ids, self.columns, self.rules)

    def _run(self, number: int) -> Path:
        return self.folder / f"{number:05}.arrow"


def _group(
    place: Path,
    spool: _Spool,
    runs: Iterator[pl.DataFrame],
    reading: StoredReading,
    told: str,
    progress: Progress | None,
) -> Manifest:
    report = progress or (lambda stage, done, total: None)
    report("reading", 0, 1)
    for frame in runs:
        spool.add(frame)
    report("reading", 1, 1)
    left_out = spool.left_out
    check_used(spool.rows, left_out, spool.first_item)
    blocks: list[BlockEntry] = []
    for number in range(spool.blocks):
        report("grouping", number, spool.blocks)
        arrays, users, merged = spool.take(number)
        left_out = left_out._replace(merged=left_out.merged + merged)
        if len(users):
            blocks.append(_write(place, number, arrays, users, rated=reading.rating_range is not None))
    report("grouping", spool.blocks, spool.blocks)
    manifest = Manifest(reading=reading, source=told, dealt=spool.blocks, left_out=left_out, blocks=blocks)
    content = manifest.model_dump_json(indent=1).encode()
    replace_file(place / MANIFEST, lambda file: file.write(content), private=True)
    return manifest


def _runs(source: str, text: TextFormat, columns: Columns, size: int) -> Iterator[pl.DataFrame]:
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


def _write(place: Path, number: int, arrays: Arrays, users: pl.Series, *, rated: bool) -> BlockEntry:
    """One row for each rating, by user and item; one without an item for a user who has none."""
    counts = np.diff(arrays.indptr)
    table = {"user": users.gather(np.repeat(np.arange(len(counts)), counts)), "item": pl.Series(arrays.items)}
    if rated:
        table["rating"] = pl.Series(arrays.values)
    nothing = pl.DataFrame({"user": users.filter(pl.Series(counts == 0))})
    frame = pl.concat([pl.DataFrame(table), nothing], how="diagonal").sort("user", maintain_order=True)
    file = io.BytesIO()
    frame.write_parquet(file, compression="lz4", statistics=False, row_group_size=max(1, frame.height))
    content = file.getvalue()
    entry = BlockEntry(
        number=number,
        users=len(users),
        ratings=len(arrays.items),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    replace_file(place / entry.file, lambda out: out.write(content), private=True)
    return entry


def _estimate_rows(source: str | os.PathLike[str]) -> int:
    """How many rows the files of a source have, about: by the sizes of text files, at least as many as are usual."""
    with readable(source):
        return sum(_rows_of(file) for file in list_files(source) if file.is_file())


def _rows_of(file: Path) -> int:
    if file.suffix in (".parquet", ".pq"):
        return int(pl.scan_parquet(file).select(pl.len()).collect().item())
    return -(-file.stat().st_size // (_ROW_PACKED if file.suffix in PACKED else _ROW))


def fits_into_memory(source: str) -> bool:
    """Whether training on a source would take no more than half of the memory; a guess, from the size of its files."""
    if source == STANDARD_INPUT:
        return True  # how many rows there are is known when all have come
    return _PER_ROW * _estimate_rows(source) <= _SHARE * _memory()


def _memory() -> int:
    """Bytes of the machine, or those that this process may have of it."""
    if not hasattr(os, "sysconf"):  # Windows
        return _UNKNOWN
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(whole, int(_CGROUP.read_text()))
    except (OSError, ValueError):  # no limit, or none that is told
        return whole
