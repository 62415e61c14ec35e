"""Finding the papers' data sets, and saying what was used where they are not at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from discreet.catalogue import Catalogue
from discreet.data import synthetic
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from reproduction.datasets import loaders


@dataclass(frozen=True)
class Source:
    """A published data set: name in words, how its files are read, scale, users and items, what comes nearest."""

    title: str
    read: Callable[[Path], Ratings]
    rating_range: tuple[float, float]
    users: int
    numbered_items: int | None = None
    instead: tuple[str, ...] = ("ml-1m",)


KNOWN: Mapping[str, Source] = {
    "ml-1m": Source("MovieLens 1M", lambda path: loaders.movielens(path, "1m"), (1, 5), 6_040, instead=()),
    "ml-10m": Source("MovieLens 10M", lambda path: loaders.movielens(path, "10m"), (0.5, 5), 69_878),
    "ml-20m": Source("MovieLens 20M", lambda path: loaders.movielens(path, "20m"), (0.5, 5), 138_493),
    "jester": Source("Jester", loaders.jester, (-10, 10), 73_421, 100, instead=()),
    "goodbooks": Source("goodbooks-10k", loaders.goodbooks, (1, 5), 53_424, 10_000, instead=()),
}


@dataclass(frozen=True)
class Dataset:
    """Ratings with what must be said about them."""

    wanted: str
    name: str
    title: str
    ratings: Ratings
    sentence: str
    whole: bool = True

    @property
    def as_published(self) -> bool:
        """Whether this is the paper's own data set with all users, so that its numbers can be compared."""
        return self.name == self.wanted and self.name in KNOWN and self.whole

    def changed(self, ratings: Ratings, remark: str) -> Dataset:
        """The same with other ratings, and a remark on how they came about."""
        return replace(self, ratings=ratings, sentence=f"{self.sentence} {remark}")

    def some_users(self, most: int, rng: np.random.Generator) -> Dataset:
        """At most so many of the users, drawn at random."""
        if self.ratings.n_users <= most:
            return self
        chosen = np.sort(rng.choice(self.ratings.n_users, most, replace=False))
        part = self.changed(self.ratings.take_users(chosen), f"Only {most:,} of the users, drawn at random.")
        return replace(part, whole=False)

    def top_items(self, most: int) -> Dataset:
        """The most rated items only, and the users who rated any of them."""
        ratings = self.ratings
        assert ratings.catalogue is not None
        counts = np.bincount(ratings.items, minlength=ratings.n_items)
        best = np.sort(np.argsort(-counts, kind="stable")[:most])
        kept = ratings.with_catalogue(Catalogue(ratings.catalogue.ids[best]))
        return self.changed(
            kept.take_users(np.flatnonzero(np.diff(kept.indptr))),
            f"Only the {len(best):,} most rated items, chosen by their exact counts, which is not charged.",
        )

    def clicks(self, least: float = 4.0, per_user: int = 5) -> Dataset:
        """Ratings from ``least`` on as clicks, for users with at least ``per_user`` of them."""
        kept = self.ratings.keep(self.ratings.values >= least)
        kept = kept.take_users(np.flatnonzero(np.diff(kept.indptr) >= per_user))
        clicks = replace(kept, values=np.ones(kept.n_ratings), rating_range=None)
        remark = (
            f"Ratings of {least:g} and more count as clicks; only users with at least {per_user} of them."
        )
        return self.changed(clicks, remark)

    def scaled(self, low: float, high: float) -> Dataset:
        """Ratings moved to another scale."""
        assert self.ratings.rating_range is not None
        bottom, top = self.ratings.rating_range
        values = low + (self.ratings.values - bottom) * ((high - low) / (top - bottom))
        ratings = replace(self.ratings, values=np.clip(values, low, high), rating_range=(low, high))
        return self.changed(ratings, f"Ratings scaled from {bottom:g}..{top:g} to {low:g}..{high:g}.")


def at_hand(name: str, folder: Path | None) -> Path | None:
    """Where a data set lies, if it is there."""
    return folder / name if folder is not None and (folder / name).exists() else None


def find_dataset(name: str, folder: Path | None, quick: bool = False, seed: int = 0) -> Dataset:
    """The data set, else the nearest that is at hand, else a synthetic market."""
    title = KNOWN[name].title
    for candidate in (name, *KNOWN[name].instead):
        path = at_hand(candidate, folder)
        if path is None:
            continue
        ratings, what = _load(candidate, path), KNOWN[candidate].title
        published = KNOWN[candidate].users
        whole = ratings.n_users == published
        size = _size(ratings) + ("" if whole else f"; published with {published:,} users")
        sentence = f"{what} ({size})."
        if candidate != name:
            sentence = f"{title} is not at hand; ran on {what} instead ({size})."
        return Dataset(name, candidate, what, ratings, sentence, whole)
    stand_in = market(quick, seed)
    missing = [KNOWN[other].title for other in KNOWN[name].instead]
    nor = f", nor is {' or '.join(missing)}" if missing else ""
    sentence = f"{title} is not at hand{nor}; ran on {_lower(stand_in.sentence)}"
    return replace(stand_in, wanted=name, sentence=sentence.replace(" (", " instead (", 1))


def market(quick: bool, seed: int) -> Dataset:
    """A synthetic market with busy and quiet users, popular and rare items."""
    sizes = (3_000, 500, 150_000) if quick else (20_000, 2_000, 1_000_000)
    ratings = synthetic.market(*sizes, rng=seed)
    return Dataset("market", "market", "synthetic market", ratings, f"A synthetic market ({_size(ratings)}).")


def _load(name: str, path: Path) -> Ratings:
    source = KNOWN[name]
    parquet = path / "ratings.parquet" if path.is_dir() else path
    if parquet.suffix != ".parquet" or not parquet.is_file():
        return source.read(path)
    items = parquet.parent / "items.parquet"
    if items.is_file():
        catalogue = Catalogue(pl.read_parquet(items, columns=["item"])["item"])
    elif source.numbered_items is not None:
        catalogue = Catalogue(range(1, source.numbered_items + 1))
    else:
        raise RatingsInvalid(
            f"{items} with the public item list (a column item) is not beside {parquet.name}"
        )
    return Ratings.from_parquet(
        parquet,
        user="user",
        item="item",
        rating="rating",
        rating_range=source.rating_range,
        catalogue=catalogue,
    )


def _size(ratings: Ratings) -> str:
    return f"{ratings.n_users:,} users, {ratings.n_items:,} items, {ratings.n_ratings:,} ratings"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
