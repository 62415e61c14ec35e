"""Recommendations for many users in a file, written as they are made: never all of them in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
from polars.io.plugins import register_io_source

from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.model.history import BLOCK

__all__ = ["check_file", "recommend_in_parts", "write_frames"]

# Rows that are made at once, at least those of a block of users.
_ROWS = 1 << 20


def check_file(out: Path, option: str = "--out") -> None:
    """Refuse a place that nothing can be written to, before anything is computed."""
    if out.suffix.lower() not in (".parquet", ".csv"):
        raise SettingsInvalid(
            f"{option} writes Parquet or CSV; give the file the extension .parquet or .csv, not {out.name!r}"
        )
    if not out.parent.is_dir():
        raise SettingsInvalid(f"there is no directory {out.parent} to write {out.name} to")


def recommend_in_parts(
    model: Model, histories: AnyRatings, n: int, choice: dict[str, Any]
) -> Iterator[pl.DataFrame]:
    """Frames of `Model.recommend_batch`, some users in each; from disk in the order of the blocks."""
    step = max(1, _ROWS // n // BLOCK) * BLOCK
    for part in [histories] if isinstance(histories, Ratings) else histories.blocks(with_ids=True):
        for start in range(0, part.n_users, step):
            yield model.recommend_batch(part.take_users(slice(start, start + step)), n, **choice)


def write_frames(frames: Iterable[pl.DataFrame], out: Path) -> dict[str, int]:
    """Write them to a file, whole or not at all; gives how many rows there were, and how many without an item."""
    told = {"rows": 0, "shortfall": 0}

    def counted() -> Iterator[pl.DataFrame]:
        for frame in frames:
            told["rows"] += frame.height
            told["shortfall"] += frame["item"].null_count()
            yield frame

    write = _write_csv if out.suffix.lower() == ".csv" else _write_parquet
    replace_file(out, lambda file: write(counted(), file), private=True)
    return told


def _write_csv(frames: Iterator[pl.DataFrame], file: BinaryIO) -> None:
    for number, frame in enumerate(frames):
        frame.write_csv(file, include_header=number == 0)


def _write_parquet(frames: Iterator[pl.DataFrame], file: BinaryIO) -> None:
    first = next(frames)
    failed: list[BaseException] = []

    def source(*pushed_down: object) -> Iterator[pl.DataFrame]:
        try:
            yield from itertools.chain([first], frames)
        except BaseException as error:  # polars would tell of it in words of its own
            failed.append(error)

    table = register_io_source(source, schema=first.schema)
    table.sink_parquet(file, engine="streaming", maintain_order=True)
    if failed:
        raise failed[0]
