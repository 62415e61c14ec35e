"""What an evaluation found: each number with its interval, popularity beside it, one row a person.

Intervals are of 95 % over people: each person is left out once, with all of their rows (jackknife). What is measured
moves a little each time; from these moves follows its standard error, and 1.96 of them to either side are the interval.
For a mean over people that is the usual standard error. One person's rows are not independent of each other, so people
are left out and not rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from discreet.catalogue import Goal
from discreet.types import Bools, Floats

__all__ = ["Evaluation", "Holder", "Measured", "covered", "list_names", "mean_of", "pooled"]

_DEVIATIONS = 1.96
# From this share of test rows that the history has as well, something is said.
_REPEATED = 0.1


@dataclass(frozen=True)
class Measured:
    """A number with its interval; NaN where nothing could be measured."""

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


@dataclass(frozen=True)
class Holder:
    """Exact counts: of people with rows that are relevant, disliked, or both; of test rows that the history has too."""

    with_relevant: int
    with_disliked: int
    with_both: int
    also_in_history: int


@dataclass(frozen=True)
class Evaluation:
    """Metrics by name, such as ``found["recall@20"].value``; ``print`` shows them all.

    Parameters
    ----------
    relevant, disliked
        From which rating up a test row is relevant, and up to which it is disliked; ``None`` for clicks.
    metrics, popularity
        Of the model, and of the items most often met in the history; what was not measured is not in them.
    global_mean, user_mean
        Error (rmse) of predicting the mean of all ratings of the history, or of each person's own.
    per_user
        A row a person: ``user``, ``relevant`` and ``disliked`` (rows of the test), and their own metrics.

    Notes
    -----
    **Privacy.** All of it is computed from ratings without noise: for their holder alone.
    """

    goal: Goal
    k: int
    relevant: float | None
    disliked: float | None
    users: int
    ratings: int
    metrics: dict[str, Measured]
    popularity: dict[str, Measured]
    global_mean: Measured | None
    user_mean: Measured | None
    holder: Holder
    per_user: pl.DataFrame = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> Measured:
        return self.metrics[name]

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about these numbers, in whole sentences."""
        return tuple(note for note in (self._repeated(), self._worse()) if note is not None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command line prints them; ``None`` for what was not measured."""

        def value(one: Measured | None) -> float | None:
            return None if one is None else one.value

        def values(names: tuple[str, ...], found: dict[str, Measured]) -> dict[str, Any]:
            intervals = {name: [found[name].low, found[name].high] for name in names if name in found}
            return {name: value(found.get(name)) for name in names} | {"intervals": intervals}

        lists = list_names(self.k)
        return {
            "goal": self.goal,
            **values(("rmse", "mae", *lists), self.metrics),
            "users": self.users,
            "ratings": self.ratings,
            "relevant": self.relevant,
            "disliked": self.disliked,
            "baselines": {
                "global_mean": {"rmse": value(self.global_mean)},
                "user_mean": {"rmse": value(self.user_mean)},
                "popularity": values(lists, self.popularity),
            },
            "holder": vars(self.holder).copy(),
        }

    def __str__(self) -> str:
        rows = [("", "model", "95 % interval", "popularity")]
        for name, one in self.metrics.items():
            beside = self.popularity.get(name)
            interval = f"{one.low:.4f} to {one.high:.4f}"
            rows.append((name, f"{one.value:.4f}", interval, "" if beside is None else f"{beside.value:.4f}"))
        for name, mean in (("global mean", self.global_mean), ("user mean", self.user_mean)):
            if mean is not None:
                rows.append(
                    (f"rmse of {name}", f"{mean.value:.4f}", f"{mean.low:.4f} to {mean.high:.4f}", "")
                )
        return "\n".join(
            [self._head(), *(f"  {a:<20}{b:>8}  {c:>18}  {d:>10}".rstrip() for a, b, c, d in rows)]
        )

    def _head(self) -> str:
        people = f"{self.users:,} people, {self.ratings:,} test rows"
        if not self.popularity:
            return people
        lists = f"{people}, lists of {self.k} without what the history has"
        if self.relevant is None:
            return lists
        return f"{lists}; relevant: {self.relevant:g} and more, disliked: {self.disliked:g} and less"

    def _repeated(self) -> str | None:
        if self.holder.also_in_history < max(_REPEATED * self.ratings, 1):
            return None
        return (
            f"{self.holder.also_in_history:,} of {self.ratings:,} test rows are in the history too: no list can bring "
            "these back, and no error of theirs counts as a prediction; give as history what was there before the test."
        )

    def _worse(self) -> str | None:
        """One sentence where the same list for everybody ranks better."""
        name = f"recall@{self.k}"
        mine, common = self.metrics.get(name), self.popularity.get(name)
        if mine is None or common is None or not mine.value < common.value:
            return None
        way = (
            "it was trained to predict ratings; to recommend, train with --goal rank"
            if self.goal == "rate"
            else "train with more budget or more users, or recommend what is popular"
        )
        told = f"{name} {mine.value:.4f}, popularity {common.value:.4f}"
        return f"This model ranks worse than popularity ({told}): {way}."


def list_names(k: int) -> tuple[str, ...]:
    """Names of what lists of ``k`` are measured by, in the order they are shown."""
    return (
        *(f"{name}@{k}" for name in ("recall", "ndcg", "precision", "map")),
        "mrr",
        f"hit_rate@{k}",
        "novelty",
        "coverage",
        f"disliked@{k}",
        "auc",
    )


def mean_of(values: Floats, most: float = 1.0) -> Measured:
    """Mean over people; NaN is who has no such number."""
    told = values[~np.isnan(values)]
    if not len(told):
        return Measured(math.nan, math.nan, math.nan)
    without = (told.sum() - told) / (len(told) - 1) if len(told) > 1 else told[:0]
    return _measured(float(told.mean()), without, most)


def pooled(sums: Floats, sizes: Floats, *, root: bool = False) -> Measured:
    """Mean over the rows of all people, or its square root; ``sums`` and ``sizes`` are of each person's rows."""
    if not sizes.any():
        return Measured(math.nan, math.nan, math.nan)
    here = sizes > 0
    sums, sizes = sums[here], sizes[here]
    shape = np.sqrt if root else np.asarray
    left = np.maximum(sums.sum() - sums, 0.0)
    without = shape(left / (sizes.sum() - sizes)) if len(sums) > 1 else sums[:0]
    return _measured(float(shape(sums.sum() / sizes.sum())), without, math.inf)


def covered(shown: Bools, alone: Floats) -> Measured:
    """Share of items that are in somebody's list; ``alone``: how many items are in this person's list only."""
    if not len(shown) or not len(alone):
        return Measured(math.nan, math.nan, math.nan)
    without = (
        -alone / len(shown) if len(alone) > 1 else alone[:0]
    )  # less than the share itself; only moves count
    return _measured(float(shown.mean()), without, 1.0)


def _measured(value: float, without: Floats, most: float) -> Measured:
    """With its interval, cut off at 0 and at ``most``; unknown where one person is all there is."""
    people = len(without)
    if people == 0:
        return Measured(value, math.nan, math.nan)
    error = math.sqrt((people - 1) / people * float(np.square(without - without.mean()).sum()))
    reach = _DEVIATIONS * error
    return Measured(value, max(value - reach, 0.0), min(value + reach, most))
