"""Make a folder for the app: a synthetic market split over three silos, their keys, and what they agreed on.

Usage: python prepare.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from discreet import Budget
from discreet.data.synthetic import market
from discreet.silos.shared import masks as secure_sum
from discreet.silos.shared.agreement import Agreement

NAMES = ("east", "north", "south")


def prepare(folder: Path) -> None:
    """Write ``agreement.json``, ``items.csv`` and a folder for each silo."""
    ratings = market(3_000, 100, 60_000, rng=0)
    assert ratings.catalogue is not None
    users = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
    items = ratings.catalogue.ids
    frame = pl.DataFrame({"user": users, "item": items[ratings.items], "rating": ratings.values})
    public = {}
    for k, name in enumerate(NAMES):
        own = folder / "silos" / name
        own.mkdir(parents=True)
        key = secure_sum.generate_key()
        (own / "mask.key").touch(mode=0o600)
        (own / "mask.key").write_text(key.hex() + "\n")
        frame.filter(pl.col("user") % len(NAMES) == k).write_parquet(own / "ratings.parquet")
        public[name] = secure_sum.public_key(key)
    pl.DataFrame({"item": items}).write_csv(folder / "items.csv")
    agreement = Agreement.make(
        "a market in three silos",
        silos=public,
        budget=Budget(2.0, 1e-6),
        catalogue=ratings.catalogue,
        rating_range=ratings.rating_range,
    )
    agreement.save(folder / "agreement.json")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    prepare(Path(sys.argv[1]))
