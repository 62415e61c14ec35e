"""Preparations in a process of their own: how much they hold, and one that is killed. A program.

python -m tests.engines.limited write PLACE ROWS      the same table as files, partitions and a database
python -m tests.engines.limited hold PLACE            peak MiB of preparing the partitions, then of reading them whole
python -m tests.engines.limited kill PLACE MOMENT     prepare the query's rows until that moment
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

from discreet import Catalogue, Ratings
from discreet.data.blocks import StoredRatings, preparation, prepare, spool
from discreet.data.checks import Columns
from discreet.data.rules import ROW_BY_ROW

CATALOGUE = Catalogue(list(range(2_000)))
QUERY = "SELECT * FROM ratings ORDER BY stars, item"
# Where the same rows lie.
SOURCES: dict[str, tuple[str, str | None]] = {
    "partitioned folder": ("days", None),
    "pattern": ("text/*.csv", None),
    "query": (QUERY, "ratings.duckdb"),
}
MOMENTS: dict[str, tuple[Any, str, int]] = {
    "while the query is written": (preparation, "write_query", 1),
    "before a run is noted": (spool, "write_json", 3),
    "before a block": (preparation, "write_block", 2),
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
    with duckdb.connect(str(place / "ratings.duckdb")) as connection:
        days = (place / "days" / "*" / "*.parquet").as_posix()
        connection.execute(f"CREATE TABLE ratings AS SELECT user, item, stars FROM read_parquet('{days}')")


def prepared(place: Path, form: str, folder: str, size: int) -> StoredRatings:
    source, database = SOURCES[form]
    return prepare(
        source if database else str(place / source),
        place / folder,
        Columns("user", "item", "stars"),
        rating_range=(1.0, 5.0),
        catalogue=CATALOGUE,
        rules=ROW_BY_ROW,
        database=place / database if database else None,
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
            if name == "write_query":
                given[2].write_bytes(b"half a file")
                (given[4] / "spilled.tmp").write_bytes(b"what a sort could not hold")
            os.kill(os.getpid(), signal.SIGKILL)
        return one(*given, **named)

    setattr(owner, name, planted)
    prepared(place, "query", "killed", 700)


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
