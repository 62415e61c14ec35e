"""Worlds of ten organisations: Poisson counts, and MovieLens by the first digit of the ZIP code; and ranks in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.data.splits import Rng
from discreet.types import Floats, Ints
from reproduction.context import Context
from reproduction.datasets.lookup import at_hand

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
    ratings, silo = poisson_silos(users, items, context.seed_for("poisson", users))
    name = f"Poisson world, {users:,} users, {items} items"
    return SiloWorld.split(name, ratings, silo, context.rng("poisson test", users), cap=8.0)


def movielens_world(context: Context) -> tuple[SiloWorld, str]:
    """MovieLens 1M by ZIP digit, else users dealt at random; and a sentence on which."""
    data = context.dataset("ml-1m", quick_users=1_000)
    ratings = data.ratings
    path = at_hand("ml-1m", context.data)
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


_RANK, _MOST, _BLOCK = 100, 50.0, 4_096


def poisson_silos(n_users: int, n_items: int, rng: Rng) -> tuple[Ratings, Ints]:
    """Poisson counts with a low-rank log-rate, every entry observed; and the silo of each user, dealt evenly.

    The paper takes ``exp(U V^T)`` with standard normal factors of rank 100, whose log-rates have a standard deviation
    of 10: rates beyond 1e17, which no count can be drawn from or learned. (Its appendix B.1 leaves the exponential out,
    which gives negative rates.) The factors here are the same, scaled so that the deviation is 1.
    """
    generator = np.random.default_rng(rng)
    traits = generator.standard_normal((n_items, _RANK)) * (1.0 / np.sqrt(_RANK))
    values = np.empty((n_users, n_items))
    for start in range(0, n_users, _BLOCK):
        tastes = generator.standard_normal((min(_BLOCK, n_users - start), _RANK))
        values[start : start + _BLOCK] = generator.poisson(np.exp(tastes @ traits.T))
    silo = generator.permutation(np.arange(n_users) % SILOS)
    ratings = Ratings(
        np.arange(n_users + 1) * n_items,
        np.tile(np.arange(n_items, dtype=np.int32), n_users),
        np.clip(values, 0.0, _MOST, out=values).ravel(),
        np.arange(1, n_users + 1),
        Catalogue(np.arange(1, n_items + 1)),
        (0.0, _MOST),
    )
    return ratings, silo


Index = npt.NDArray[Any]


def percentile_ranks(scores: Callable[[int], Floats], indptr: Index, items: Index) -> Floats:
    """Percentile of each test item in its user's order of all items: 0 is first, 1 is last, ties share the middle."""
    found = np.empty(len(items))
    for user in range(len(indptr) - 1):
        mine = slice(int(indptr[user]), int(indptr[user + 1]))
        if mine.start < mine.stop:
            own = scores(user)
            ordered = np.sort(own)
            below = np.searchsorted(ordered, own[items[mine]], side="left")
            upto = np.searchsorted(ordered, own[items[mine]], side="right")
            found[mine] = (len(own) - (below + upto + 1) / 2.0) / max(len(own) - 1, 1)
    return found
