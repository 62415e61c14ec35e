"""Rank and penalties for ratings, judged on a tenth of them that is held out (decision 42).

This looks at the ratings as it likes: nothing here is private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.als.least_squares import LeastSquares
from discreet.methods.als.settings import ALSSettings

__all__ = ["Choice", "choose", "descent"]

_EXPONENT = 0.5
_HELD_OUT = 0.1
# Below this the held-out tenth says nothing.
_FEWEST_HELD_OUT = 50
_RANKS = (8, 32)
_OFFSET_PENALTIES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
# Without a validation: penalties that are near the best for the stars of films and books.
_PLAIN_OFFSET_PENALTY = 0.4
_PLAIN_PENALTY = 1.4
# The descent, in units of the error that offsets alone leave.
_WARM_UP = 1.0
_HIGHEST, _LOWEST = 2.8, 1e-6
_STEP, _FINE_ABOVE, _LONG_STEP = 0.7, 0.5, 0.35
_ROUNDS_A_STEP = 3
# The descent ends once the error is above the best by this share.
_RISE = 0.002
# People's own penalty at the end, relative to that of training: factors that a strong penalty has made few and short
# still want longer vectors.
_RELAXED = (1.0, 0.7, 0.5, 0.35)


@dataclass(frozen=True)
class Choice:
    """What ``"auto"`` came to.

    Parameters
    ----------
    rank, offset_penalty, penalty, count_exponent
        Of training.
    unit
        The error that offsets alone leave; the path of penalties starts from it.
    relaxed
        Penalty of people's vectors beside the trained items, relative to that of training.
    """

    rank: int
    offset_penalty: float
    penalty: float
    count_exponent: float
    unit: float
    relaxed: float = 1.0


def choose(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, report: Callable[[int, int], None]
) -> Choice:
    """Replace every ``"auto"`` of the settings by a value."""
    exponent = _EXPONENT if settings.count_exponent == "auto" else settings.count_exponent
    ranks = _RANKS if settings.rank == "auto" else (settings.rank,)
    if settings.penalty != "auto":
        ranks = ranks[-1:]
    steps = int(settings.offset_penalty == "auto") + len(ranks) * int(settings.penalty == "auto")
    if not steps:
        assert settings.offset_penalty != "auto"
        assert settings.penalty != "auto"
        return Choice(ranks[0], settings.offset_penalty, settings.penalty, exponent, 1.0)
    chosen = rng.random(ratings.n_ratings) < _HELD_OUT
    if np.count_nonzero(chosen) < _FEWEST_HELD_OUT:
        return _unjudged(settings, ratings, ranks[0], exponent)
    judge = _Judge(ratings.keep(~chosen), ratings.keep(chosen), exponent, int(rng.integers(2**62)))
    unit, offset_penalty = judge.offsets(settings)
    report(0, steps)
    if settings.penalty != "auto":
        return Choice(ranks[0], offset_penalty, settings.penalty, exponent, unit)
    found: list[tuple[float, float, float, int]] = []
    for rank in ranks:
        report(steps - len(ranks) + len(found), steps)
        found.append((*judge.descend(rank, offset_penalty, unit), rank))
    _, penalty, relaxed, rank = min(found)
    report(steps, steps)
    return Choice(rank, offset_penalty, penalty, exponent, unit, relaxed)


def descent(unit: float, lowest: float) -> Iterator[float]:
    """Penalties of the rounds, from strong to the ``lowest``.

    Two rounds with a weak penalty come first: factors that start small under a strong one take many rounds to grow.
    """
    yield from [_WARM_UP * unit] * 2
    penalty = _HIGHEST * unit
    while penalty > lowest * 1.001:
        yield from [penalty] * _ROUNDS_A_STEP
        penalty = _next(penalty, unit)


def _next(penalty: float, unit: float) -> float:
    return penalty * (_STEP if penalty > _FINE_ABOVE * unit else _LONG_STEP)


def _unjudged(settings: ALSSettings, ratings: Ratings, rank: int, exponent: float) -> Choice:
    """For a handful of ratings."""
    offset_penalty = _PLAIN_OFFSET_PENALTY if settings.offset_penalty == "auto" else settings.offset_penalty
    spread = float(ratings.values.std()) if ratings.n_ratings else 0.0
    unit = spread if spread > 0.0 else 1.0
    penalty = _PLAIN_PENALTY * unit if settings.penalty == "auto" else settings.penalty
    return Choice(rank, offset_penalty, penalty, exponent, unit)


class _Judge:
    """Fits on most ratings, judged on the others; every candidate starts from the same random numbers."""

    def __init__(self, kept: Ratings, held_out: Ratings, exponent: float, seed: int) -> None:
        self._kept, self._held_out, self._exponent, self._seed = kept, held_out, exponent, seed

    def offsets(self, settings: ALSSettings) -> tuple[float, float]:
        """The error that offsets alone leave, and their penalty."""
        given = settings.offset_penalty
        found = []
        for penalty in _OFFSET_PENALTIES if given == "auto" else (given,):
            fit = self._start(0)
            for _ in range(3):
                fit.round(penalty, 1.0)
            found.append((fit.error(penalty, 1.0, self._held_out), penalty))
        error, penalty = min(found)
        return max(error, 1e-6), penalty

    def descend(self, rank: int, offset_penalty: float, unit: float) -> tuple[float, float, float]:
        """The least error on the way down from a strong penalty, the penalty there, and people's relative to it."""
        if rank == 0:
            return unit, unit, 1.0
        fit = self._start(rank)
        for penalty in [_WARM_UP * unit] * 2:
            fit.round(offset_penalty, penalty)
        penalty, errors, penalties = _HIGHEST * unit, [], []
        while penalty > _LOWEST * unit:
            for _ in range(_ROUNDS_A_STEP):
                fit.round(offset_penalty, penalty)
            errors.append([fit.error(offset_penalty, share * penalty, self._held_out) for share in _RELAXED])
            penalties.append(penalty)
            if min(errors[-1]) > (1.0 + _RISE) * np.min(errors):
                break
            penalty = _next(penalty, unit)
        best = int(np.argmin(np.min(errors, axis=0)))
        return (
            float(np.min(errors)),
            _lowest_point(penalties, [step[best] for step in errors]),
            _RELAXED[best],
        )

    def _start(self, rank: int) -> LeastSquares:
        return LeastSquares(self._kept, rank, self._exponent, np.random.default_rng(self._seed))


def _lowest_point(penalties: list[float], errors: list[float]) -> float:
    """Bottom of the parabola through the best penalty and its neighbours, in logarithms; the best one at an end."""
    best = int(np.argmin(errors))
    if best in (0, len(errors) - 1):
        return penalties[best]
    near = slice(best - 1, best + 2)
    logs = np.log(penalties[near])
    curve, slope, _ = np.polyfit(logs - logs[1], errors[near], 2)
    bottom = -slope / (2.0 * curve) if curve > 0.0 else 0.0
    return float(np.exp(np.clip(logs[1] + bottom, logs[2], logs[0])))
