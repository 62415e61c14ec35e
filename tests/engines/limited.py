"""Preparations in a process of their own: how much they hold, and one that is killed. A program.

python -m tests.engines.limited write PLACE ROWS      the same table as files and partitions
python -m tests.engines.limited hold PLACE            peak MiB of preparing the partitions, then of reading them whole
python -m tests.engines.limited kill PLACE MOMENT     prepare text files until that moment
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet import Catalogue, Ratings
from discreet.catalogue.columns import Columns
from discreet.data import StoredRatings, preparation, prepare
from discreet.data.rules import ROW_BY_ROW

CATALOGUE = Catalogue(list(range(2_000)))
# Where the same rows lie.
SOURCES = {"partitioned folder": "days", "text files": "text/*.csv"}
MOMENTS: dict[str, tuple[Any, str, int]] = {
    "while rows are dealt": (preparation, "replace_file", 2),
    "before a block": (preparation, "_write", 2),
    "before the manifest": (preparation, "Manifest", 1),
}


def write(place: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "user": rng.integers(0, rows // 50, rows),
            "item": rng.integers(0, 2_000, rows),
            "stars": rng.integers(1, 6, rows).astype(float),
        }
    ).unique(["user", "item"], maintain_order=True)
    (place / "text").mkdir()
    for number, part in enumerate(frame.iter_slices(rows // 4)):
        day = place / "days" / f"day={number}"
        day.mkdir(parents=True)
        part.write_parquet(day / "part.parquet")
        part.write_csv(place / "text" / f"{number}.csv")


def prepared(place: Path, form: str, folder: str, size: int) -> StoredRatings:
    return prepare(
        str(place / SOURCES[form]),
        place / folder,
        Columns("user", "item", "stars"),
        rating_range=(1.0, 5.0),
        catalogue=CATALOGUE,
        rules=ROW_BY_ROW,
        block_ratings=size,
        run_rows=size,
    )


def hold(place: Path) -> dict[str, float]:
    prepared(place, "partitioned folder", "blocks", 40_000)
    held = {"prepared": _peak()}
    Ratings.from_file(
        str(place / "days"),
        user="user",
        item="item",
        rating="stars",
        rating_range=(1, 5),
        catalogue=CATALOGUE,
    )
    return held | {"read whole": _peak()}


def kill(place: Path, moment: str) -> None:
    owner, name, count = MOMENTS[moment]
    one, left = getattr(owner, name), [count]

    def planted(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return one(*given, **named)

    setattr(owner, name, planted)
    prepared(place, "text files", "killed", 700)


def _peak() -> float:
    """Of this program alone: what getrusage says may be that of the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    what, where = sys.argv[1], Path(sys.argv[2])
    if what == "write":
        write(where, int(sys.argv[3]))
    elif what == "hold":
        print(json.dumps(hold(where)))
    else:
        kill(where, sys.argv[3])
