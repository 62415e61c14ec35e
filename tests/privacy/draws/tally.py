"""How well very many draws fit a law, by statistics of known power.

A comparison fails where a statistic has a p-value below :data:`ALARM`. There are fewer than a hundred of them in a run
of everything, so honest code raises an alarm less often than once in a million runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from discreet.types import Floats, Ints
from tests.privacy.draws.laws import Law

ALARM = 1e-8
ALARM_ERRORS = float(stats.norm.isf(ALARM / 2.0))
"""The same for a statistic that is normally distributed, in standard errors."""
# Cells of the chi-square test: quantiles, and no cell expected to hold fewer than this.
_CELLS, _LEAST = 64, 20.0
# How much of the law is called its tail, where so many draws reach it.
_TAILS = (1e-4, 1e-6)


@dataclass
class Tally:
    """How often each value of a law's range came. Anything outside of it counts as an alarm of its own."""

    start: int
    counts: Ints
    outside: int = 0

    @classmethod
    def like(cls, law: Law) -> Tally:
        return cls(law.start, np.zeros(len(law.chances), dtype=np.int64))

    @property
    def draws(self) -> int:
        return int(self.counts.sum()) + self.outside

    def add(self, values: Floats | Ints) -> None:
        """Count some draws; only counts are kept."""
        place = values.ravel().astype(np.int64) - self.start
        inside = (place >= 0) & (place < len(self.counts))
        if not inside.all():
            self.outside += int((~inside).sum())
            place = place[inside]
        self.counts += np.bincount(place, minlength=len(self.counts))

    def join(self, other: Tally) -> None:
        """Count what another counted."""
        self.counts += other.counts
        self.outside += other.outside


@dataclass(frozen=True)
class Fit:
    """p-values of draws under a law, and by how many standard errors its scale is missed."""

    draws: int
    scale_errors: float
    p_values: dict[str, float] = field(default_factory=dict)

    @property
    def worst(self) -> tuple[str, float]:
        return min(self.p_values.items(), key=lambda item: item[1])

    @property
    def alarm(self) -> bool:
        return self.worst[1] < ALARM


def fit(tally: Tally, law: Law, score: str) -> Fit:
    """Compare what was counted with a law."""
    n, counts = tally.draws, tally.counts
    errors = _errors(counts, n, law, scores(law, score))
    found = {
        "scale": 2.0 * float(stats.norm.sf(abs(errors))),
        "mean": 2.0 * float(stats.norm.sf(abs(_errors(counts, n, law, law.values)))),
        "cells": _chi_square(counts, n, law.chances),
        "range": 0.0 if tally.outside else 1.0,
    }
    for name, observed, expected in (
        ("low tail", counts, law.chances),
        ("high tail", counts[::-1], law.chances[::-1]),
    ):
        for share in _TAILS:
            found[f"{name} {share:g}"] = _tail(observed, n, expected, share)
    return Fit(n, errors, found)


def scores(law: Law, score: str) -> Floats:
    """What the scale is estimated from: the best statistic for each family of laws."""
    return {"square": law.values**2, "size": np.abs(law.values)}[score]


def shift(draws: int, law: Law, wrong: Law, score: str) -> float:
    """By how many standard errors the statistic of scale is expected to miss, were the draws of a wrong law."""
    values = scores(law, score)
    mean, deviation = _moments(law, values)
    return (_moments(wrong, scores(wrong, score))[0] - mean) / deviation * math.sqrt(draws)


def power(shifted: float) -> float:
    """Chance of an alarm where the statistic is expected to miss by so many standard errors."""
    return float(stats.norm.sf(ALARM_ERRORS - abs(shifted)))


def _moments(law: Law, values: Floats) -> tuple[float, float]:
    mean = float(law.chances @ values)
    return mean, math.sqrt(float(law.chances @ (values - mean) ** 2))


def _errors(counts: Ints, draws: int, law: Law, values: Floats) -> float:
    mean, deviation = _moments(law, values)
    return float(counts @ (values - mean)) / draws / deviation * math.sqrt(draws)


def _chi_square(counts: Ints, draws: int, chances: Floats) -> float:
    """Quantiles of the law as cells, fewer where the law has few values."""
    place = np.minimum((np.cumsum(chances) - chances / 2.0) * _CELLS, _CELLS - 1).astype(np.int64)
    expected = np.bincount(place, chances * draws, _CELLS)
    observed = np.bincount(place, counts, _CELLS)
    fine = expected >= _LEAST
    seen, wanted = observed[fine], expected[fine]
    statistic = float(((seen - wanted) ** 2 / wanted).sum())
    return float(stats.chi2.sf(statistic, max(len(wanted) - 1, 1)))


def _tail(counts: Ints, draws: int, chances: Floats, share: float) -> float:
    """Exact binomial test of how many draws lie where the law has ``share`` of itself, or a little less."""
    size = int(np.searchsorted(np.cumsum(chances), share))
    chance = float(chances[:size].sum())
    if draws * chance < _LEAST:
        return 1.0
    seen = int(counts[:size].sum())
    law = stats.binom(draws, chance)
    return float(min(1.0, 2.0 * min(law.cdf(seen), law.sf(seen - 1))))
