"""Tables of ratings with everything that a row can have wrong with it, in all the forms that are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from discreet import Catalogue, Ratings
from discreet.catalogue.columns import Columns
from discreet.data import StoredRatings, prepare
from discreet.data.rules import ROW_BY_ROW, RowRules

N_ITEMS = 12
CATALOGUE = Catalogue(list(range(100, 100 + N_ITEMS)))
EXPLICIT, IMPLICIT = Columns("who", "what", "stars"), Columns("who", "what")
TIMED = Columns("who", "what", "stars", "turned")


def table(seed: int = 0, rows: int = 700, users: int = 60) -> pl.DataFrame:
    """Missing users, items and ratings, strangers, ratings out of range, repeats, users without a usable row."""
    rng = np.random.default_rng(seed)
    who = rng.zipf(1.3, rows) % users
    frame = pl.DataFrame(
        {
            "when": np.arange(rows),
            "turned": np.random.default_rng(seed + 1).permutation(rows),
            "who": who.astype(np.int64) * 7919,
            "what": rng.integers(98, 100 + N_ITEMS + 2, rows),
            "stars": rng.choice([0.5, 1.0, 2.0, 3.1, 4.0, 5.0, 7.0], rows),
        }
    )
    lost = {name: rng.random(rows) < 0.03 for name in ("who", "what", "stars")}
    frame = frame.with_columns(
        pl.when(pl.Series(mask)).then(None).otherwise(pl.col(name)).alias(name) for name, mask in lost.items()
    )
    stranger = pl.DataFrame({"when": [rows], "turned": [rows], "who": [-5], "what": [1], "stars": [3.0]})
    return pl.concat([frame, stranger], how="vertical_relaxed")


def stored(
    source: str | Path,
    folder: Path,
    *,
    rated: bool = True,
    timed: bool = False,
    rules: RowRules = ROW_BY_ROW,
    catalogue: Catalogue = CATALOGUE,
    block_ratings: int = 25,
    run_rows: int = 130,
) -> StoredRatings:
    """Prepared in small runs and blocks."""
    return prepare(
        str(source),
        folder,
        TIMED if timed else EXPLICIT if rated else IMPLICIT,
        rating_range=(1.0, 5.0) if rated else None,
        catalogue=catalogue,
        rules=replace(rules, allow_dropped=1.0),
        block_ratings=block_ratings,
        run_rows=run_rows,
    )


def in_memory(
    source: str | Path, *, rated: bool = True, timed: bool = False, rules: RowRules = ROW_BY_ROW
) -> Ratings:
    """The same table, read whole."""
    columns = TIMED if timed else EXPLICIT if rated else IMPLICIT
    return Ratings.from_file(
        str(source),
        **columns._asdict(),
        rating_range=(1.0, 5.0) if rated else None,
        catalogue=CATALOGUE,
        **vars(replace(rules, allow_dropped=1.0)),
    )


def histories(ratings: Ratings | StoredRatings) -> dict[object, tuple[list[int], list[float]]]:
    """What each user has, by id."""
    told: dict[object, tuple[list[int], list[float]]] = {}
    parts = [ratings] if isinstance(ratings, Ratings) else ratings.blocks(with_ids=True)
    for part in parts:
        for row, user in enumerate(part.user_ids.tolist()):
            assert user not in told
            entries = slice(part.indptr[row], part.indptr[row + 1])
            told[user] = (part.items[entries].tolist(), part.values[entries].tolist())
    return told
