"""The skewed market as a folder of Parquet files, for `benchmarks.scale`: a file at a time, each once.

A file has 5,000 users and a million ratings, their rows in no order; the first so many files are a market of so many
million ratings, over the same 20,000 items. A file follows from its number alone, so writing can stop anywhere.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet import Catalogue
from discreet.data.synthetic import MOST_SHARE, activity, draw_weighted, factors, items_of, popularity

N_ITEMS, PER_USER, LIFT = 20_000, 200, 1.0
USERS = 5_000
"""Of a file."""


def write_market(folder: Path, files: int) -> None:
    """Write the files that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = market_file(folder, number)
        if not path.exists():
            fresh = path.with_suffix(".partial")
            _rows(number).write_parquet(fresh)
            fresh.rename(path)


def market_file(folder: Path, number: int) -> Path:
    """Where the rows of a file are."""
    return folder / f"ratings-{number:05}.parquet"


def chosen_files(folder: Path, files: int, place: Path) -> str:
    """A folder with the first so many files of the market, which are not copied; as a pattern."""
    place.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        link = market_file(place, number)
        if not link.exists():
            link.symlink_to(market_file(folder, number).absolute())
    return str(place / "*.parquet")


@cache
def catalogue() -> Catalogue:
    """The items."""
    return items_of(N_ITEMS, N_ITEMS)


def _rows(number: int) -> pl.DataFrame:
    rng = np.random.default_rng([1, number])
    weights, traits = _items()
    counts = activity(USERS, USERS * PER_USER, _most(), rng)
    items = draw_weighted(
        rng, np.concatenate([[0], np.cumsum(counts)]), weights, factors(USERS, rng), traits, LIFT
    )
    order = rng.permutation(len(items))
    who = np.repeat(np.arange(number * USERS, (number + 1) * USERS) * 7919, counts)
    ids = pl.Series(catalogue().ids.tolist())
    # What the ratings are changes neither time nor memory.
    stars = rng.integers(1, 6, len(items)).astype(np.float64)
    return pl.DataFrame({"user": who[order], "item": ids[items[order]], "rating": stars})


@cache
def _items() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    counts = activity(20 * USERS, 20 * USERS * PER_USER, _most(), rng)
    return rng.permutation(popularity(counts, N_ITEMS, LIFT)), factors(N_ITEMS, rng)


def _most() -> int:
    return max(1, int(MOST_SHARE * N_ITEMS))
