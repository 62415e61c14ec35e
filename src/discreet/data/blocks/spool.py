"""First half of preparation: rows, read by the rules, dealt to partitions by a hash of their user, run by run.

runs/00007.arrow   rows of one run, partition by partition, each in the order of the table
runs/00007.json    where each partition begins, and how many rows were left out; written last
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from discreet.catalogue import Catalogue
from discreet.data.blocks.format import write_json
from discreet.data.blocks.table import Table
from discreet.data.encode import read_rows
from discreet.data.rules import LeftOut, RowRules
from discreet.model.directory import remove_partial, replace_file
from discreet.private_files import private_folder

__all__ = ["RunNote", "Spool"]


class RunNote(BaseModel):
    """What a run says about itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    starts: list[int]
    left_out: Annotated[tuple[int, int, int, int], Field(strict=False)]


class Spool:
    """Runs of rows on disk.

    Parameters
    ----------
    folder
        Where they are.
    table, rating_range, catalogue, rules
        What is read, and how.
    partitions
        How many; all rows of a user are in one of them.
    size
        Rows of a run.
    """

    def __init__(
        self,
        folder: Path,
        table: Table,
        rating_range: tuple[float, float] | None,
        catalogue: Catalogue,
        rules: RowRules,
        partitions: int,
        size: int,
    ) -> None:
        self._folder, self._table = folder, table
        self._range, self._catalogue, self._rules = rating_range, catalogue, rules
        self._partitions, self._size = partitions, size

    @property
    def count(self) -> int:
        """Runs in all."""
        return -(-self._table.rows // self._size)

    def fill(self) -> None:
        """Write all runs; those that are there already stay."""
        private_folder(self._folder)
        remove_partial(self._folder)
        done = 0
        while self._note(done).is_file():
            done += 1
        for number, frame in enumerate(self._table.runs(self._size, done), done):
            self._write(number, frame)

    def partition(self, number: int) -> pl.DataFrame:
        """All rows of a partition in the order of the table: user, item (-1: the row is left out), value, time, row."""
        parts = []
        for run in range(self.count):
            starts = self._read(run).starts
            start, stop = starts[number : number + 2]
            parts.append(pl.scan_ipc(self._run(run)).slice(start, stop - start).collect())
        return pl.concat(parts)

    def left_out(self) -> LeftOut:
        """How many rows each rule met, over all runs."""
        met = np.array([self._read(run).left_out for run in range(self.count)], dtype=np.int64)
        return LeftOut(*met.sum(axis=0).tolist())

    def _write(self, number: int, frame: pl.DataFrame) -> None:
        before = number * self._size
        rows = read_rows(frame, self._table.columns, self._range, self._catalogue, self._rules, before)
        index = np.where(rows.out, -1, rows.place).astype(np.int32)
        dealt = {"user": rows.users, "item": index}
        if self._range is not None or self._table.columns.weight is not None:
            dealt["value"] = rows.values
        if rows.times is not None:
            dealt |= rows.times.to_dict()
        if self._rules.duplicates == "error":
            dealt["row"] = np.arange(before, before + frame.height)
        place = (rows.users.hash(0) % self._partitions).to_numpy()
        named = np.flatnonzero(~rows.nobody)
        order = named[np.argsort(place[named], kind="stable")]
        starts: npt.NDArray[np.int64] = np.searchsorted(place[order], np.arange(self._partitions + 1))
        run = pl.DataFrame(dealt)[order]
        replace_file(self._run(number), lambda file: run.write_ipc(file), private=True)
        write_json(self._note(number), RunNote(starts=starts.tolist(), left_out=rows.left_out[:4]))

    def _run(self, number: int) -> Path:
        return self._folder / f"{number:05}.arrow"

    def _note(self, number: int) -> Path:
        return self._folder / f"{number:05}.json"

    def _read(self, number: int) -> RunNote:
        return RunNote.model_validate_json(self._note(number).read_bytes())
