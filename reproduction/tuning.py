"""Random search on a validation split, with the same number of trials for every method.

Private methods pay for each fit of the search in real life; here, as in the papers, they do not. Whatever was tuned
says so with `Search.label`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.errors import DiscreetError, SettingsInvalid

__all__ = ["Choice", "LogInteger", "LogUniform", "Search", "Space", "Trial", "search"]

T = TypeVar("T")


class Values(Protocol):
    """Where a setting's values come from."""

    def draw(self, rng: np.random.Generator) -> Any:
        """One value."""


Space = Mapping[str, Values]


@dataclass(frozen=True)
class Choice:
    """One of these values, each as likely."""

    values: Sequence[Any]

    def draw(self, rng: np.random.Generator) -> Any:
        """One value."""
        return self.values[int(rng.integers(len(self.values)))]


@dataclass(frozen=True)
class LogUniform:
    """A number whose logarithm is evenly spread."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        """One value."""
        return float(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))


@dataclass(frozen=True)
class LogInteger:
    """A whole number from ``low`` to ``high`` whose logarithm is about evenly spread."""

    low: int
    high: int

    def draw(self, rng: np.random.Generator) -> int:
        """One value."""
        value = math.exp(rng.uniform(math.log(self.low), math.log(self.high + 1)))
        return min(int(value), self.high)


@dataclass(frozen=True)
class Trial:
    """One try: its settings and the validation score (NaN where the method refused them)."""

    settings: dict[str, Any]
    value: float


@dataclass(frozen=True)
class Search:
    """The best settings that were tried."""

    settings: dict[str, Any]
    value: float
    trials: tuple[Trial, ...]

    @property
    def label(self) -> str:
        """What must be said beside every number that comes from this."""
        return f"settings chosen on a validation split by {len(self.trials)} trials each; the search is not charged"


def search(
    make: Callable[..., T],
    space: Space,
    trials: int,
    score: Callable[[T], float],
    rng: np.random.Generator | int,
    *,
    lower_is_better: bool = True,
    first: Sequence[Mapping[str, Any]] = (),
) -> Search:
    """Try random settings and keep the best.

    Parameters
    ----------
    make
        Called with the settings by name; what it gives back goes to ``score``.
    space
        Where each setting's values come from.
    trials
        How many settings are tried, those of ``first`` included. Give every method the same number.
    score
        Fits and scores on the validation split.
    rng
        Seed or generator; all settings are drawn before the first fit, so they do not depend on any outcome.
    first
        Settings to try before the drawn ones, such as the published ones.

    Notes
    -----
    Settings that a method refuses count as a trial and cannot win.
    """
    if trials < max(1, len(first)):
        raise SettingsInvalid(f"{trials} trials are not enough for {len(first)} given settings and a search")
    generator = np.random.default_rng(rng)
    drawn = [
        {name: values.draw(generator) for name, values in space.items()} for _ in range(trials - len(first))
    ]
    tried = tuple(Trial(dict(s), _value(make, score, s)) for s in (*first, *drawn))
    usable = [trial for trial in tried if not math.isnan(trial.value)]
    if not usable:
        raise SettingsInvalid(
            f"none of {trials} trials gave a score; the last settings were {tried[-1].settings}"
        )
    best = (min if lower_is_better else max)(usable, key=lambda trial: trial.value)
    return Search(best.settings, best.value, tried)


def _value(make: Callable[..., T], score: Callable[[T], float], settings: Mapping[str, Any]) -> float:
    try:
        return float(score(make(**settings)))
    except DiscreetError:
        return math.nan
