"""Worlds of ten organisations: Poisson counts, and MovieLens by the first digit of the ZIP code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.data.ratings import Ratings
from discreet.types import Ints
from reproduction.context import Context
from reproduction.datasets.lookup import at_hand
from reproduction.silos.poisson import poisson_silos

SILOS = 10
_TESTED = 0.2
_HELD_OUT = 5


@dataclass(frozen=True, eq=False)
class SiloWorld:
    """Ratings over silos, with five held-out ratings of one user in five."""

    name: str
    train: Ratings
    test: Ratings
    silo: Ints
    cap: float | None = None

    @classmethod
    def split(
        cls, name: str, ratings: Ratings, silo: Ints, rng: np.random.Generator, cap: float | None = None
    ) -> SiloWorld:
        """Draw the test set as in section 5.4 of the paper."""
        counts = np.diff(ratings.indptr)
        able = np.flatnonzero(counts > _HELD_OUT)
        chosen = rng.choice(able, min(round(_TESTED * len(counts)), len(able)), replace=False)
        held = np.zeros(ratings.n_ratings, dtype=bool)
        for user in chosen:
            held[ratings.indptr[user] + rng.choice(counts[user], _HELD_OUT, replace=False)] = True
        return cls(name, ratings.keep(~held), ratings.keep(held), silo, cap)

    @cached_property
    def parts(self) -> tuple[Ratings, ...]:
        """Training ratings of each silo."""
        return tuple(self.train.take_users(self.silo == number) for number in range(SILOS))

    @cached_property
    def tested(self) -> tuple[tuple[Ratings, Ratings], ...]:
        """The tested users of each silo: what is known of them, and what is held out."""
        some = np.diff(self.test.indptr) > 0
        return tuple(
            (self.train.take_users(rows), self.test.take_users(rows))
            for rows in (np.flatnonzero(some & (self.silo == number)) for number in range(SILOS))
        )

    @cached_property
    def inner(self) -> SiloWorld:
        """The training ratings, split once more in the same way: what settings are chosen on."""
        return SiloWorld.split(
            f"{self.name}, validation", self.train, self.silo, np.random.default_rng(0), self.cap
        )

    @property
    def scale(self) -> tuple[float, float]:
        """Of the ratings."""
        assert self.train.rating_range is not None
        return self.train.rating_range

    @property
    def order(self) -> int:
        """Order of magnitude of a silo's number of users, which is public."""
        return int(10 ** round(np.log10(self.train.n_users / SILOS)))

    def clipped(self) -> Iterator[Ratings]:
        """Each silo's training ratings on the public scale of the private methods."""
        for part in self.parts:
            yield part if self.cap is None else self._clip(part)

    def clipped_train(self) -> Ratings:
        """All training ratings on that scale."""
        return self.train if self.cap is None else self._clip(self.train)

    def _clip(self, ratings: Ratings) -> Ratings:
        assert self.cap is not None
        top = (self.scale[0], self.cap)
        return replace(ratings, values=np.minimum(ratings.values, self.cap), rating_range=top)


def poisson_world(context: Context, users: int, items: int) -> SiloWorld:
    """The synthetic world of section 5.1: counts of log-rates of rank 100, every entry observed."""
    ratings, silo = poisson_silos(users, items, SILOS, rng=context.seed_for("poisson", users))
    name = f"Poisson world, {users:,} users, {items} items"
    return SiloWorld.split(name, ratings, silo, context.rng("poisson test", users), cap=8.0)


def movielens_world(context: Context) -> tuple[SiloWorld, str]:
    """MovieLens 1M by ZIP digit, else users dealt at random; and a sentence on which."""
    data = context.dataset("ml-1m", quick_users=1_000)
    ratings = data.ratings
    path = at_hand("ml-1m", context.paths, context.data)
    digits = None if path is None else _zip_digits(path, ratings.user_ids)
    if digits is None:
        silo = context.rng("silos").permutation(ratings.n_users) % SILOS
        said = "There are no ZIP codes at hand: users are dealt evenly over ten silos at random."
    else:
        silo = digits
        said = "Ten silos by the first digit of the ZIP code, of " + ", ".join(
            f"{count:,}" for count in np.bincount(silo, minlength=SILOS)
        )
        said += " users."
    return SiloWorld.split(data.title, ratings, silo, context.rng("silo test")), said


def _zip_digits(path: Path, user_ids: npt.NDArray[Any]) -> Ints | None:
    """First digit of each user's ZIP code, if the file of users is there."""
    folder = path if path.is_dir() else path.parent
    if (folder / "users.parquet").is_file():
        table = pl.read_parquet(folder / "users.parquet", columns=["user", "zip"])
        codes = dict(zip(table["user"].to_list(), table["zip"].to_list(), strict=True))
    elif (folder / "users.dat").is_file():
        lines = (folder / "users.dat").read_text(encoding="latin-1").split("\n")
        fields = [line.rstrip("\r").split("::") for line in lines if line.strip()]
        codes = {int(field[0]): field[-1] for field in fields}
    else:
        return None
    return np.array([int(str(codes[user])[0]) for user in user_ids.tolist()], dtype=np.int64)
