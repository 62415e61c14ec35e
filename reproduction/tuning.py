"""Random search on a validation split, with the same number of trials for every method; the search is not charged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from discreet.errors import DiscreetError, SettingsInvalid

T = TypeVar("T")


Draw = Callable[[np.random.Generator], Any]
Space = Mapping[str, Draw]
"""How each setting's values are drawn."""


def choice(values: Sequence[Any]) -> Draw:
    """One of these values, each as likely."""
    return lambda rng: values[int(rng.integers(len(values)))]


def log_uniform(low: float, high: float) -> Draw:
    """A number whose logarithm is evenly spread."""
    return lambda rng: float(math.exp(rng.uniform(math.log(low), math.log(high))))


def log_integer(low: int, high: int) -> Draw:
    """A whole number from ``low`` to ``high`` whose logarithm is about evenly spread."""
    return lambda rng: min(int(math.exp(rng.uniform(math.log(low), math.log(high + 1)))), high)


class Search(NamedTuple):
    """The best settings that were tried, and their validation score."""

    settings: Mapping[str, Any]
    value: float


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

    Notes
    -----
    Settings that a method refuses count as a trial and cannot win.
    """
    if trials < max(1, len(first)):
        raise SettingsInvalid(f"{trials} trials are not enough for {len(first)} given settings and a search")
    generator = np.random.default_rng(rng)
    drawn = [{name: draw(generator) for name, draw in space.items()} for _ in range(trials - len(first))]
    tried = [Search(settings, _value(make, score, settings)) for settings in (*first, *drawn)]
    usable = [trial for trial in tried if not math.isnan(trial.value)]
    if not usable:
        raise SettingsInvalid(
            f"none of {trials} trials gave a score; the last settings were {tried[-1].settings}"
        )
    return (min if lower_is_better else max)(usable, key=lambda trial: trial.value)


def _value(make: Callable[..., T], score: Callable[[T], float], settings: Mapping[str, Any]) -> float:
    try:
        return float(score(make(**settings)))
    except DiscreetError:
        return math.nan
