"""Plain ALS on ratings: rank and penalties are judged on a tenth of them that is held out (docs/lab/als.md).

This looks at the ratings as it likes: nothing here is private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.catalogue import Goal
from discreet.data.ratings import Ratings
from discreet.methods.public.settings import Auto, Exponent, Positive, Rank, Rounds, Settings
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.types import Singles

__all__ = ["ALSSettings", "Choice", "Progress", "RatingsFit", "choose", "descent", "train_ratings"]

Progress = Callable[[str, int, int], None]

# Rounds under a given penalty, and those that a descent of penalties ends with.
_ROUNDS, _LAST_ROUNDS = 15, 5
_EXPONENT = 0.5
# What is held out; below so many ratings that says nothing.
_HELD_OUT, _FEWEST_HELD_OUT = 0.1, 50
_RANKS = (8, 32)
_OFFSET_PENALTIES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
# Without a validation: penalties that are near the best for the stars of films and books.
_PLAIN_OFFSET_PENALTY, _PLAIN_PENALTY = 0.4, 1.4
# The descent, in units of the error that offsets alone leave. Two rounds with a weak penalty come first: factors that
# start small under a strong one take many rounds to grow.
_WARM_UP, _HIGHEST, _LOWEST = 1.0, 2.8, 1e-6
_STEP, _FINE_ABOVE, _LONG_STEP, _ROUNDS_A_STEP = 0.7, 0.5, 0.35, 3
# The descent ends once the error is above the best by this share.
_RISE = 0.002
# People's own penalty at the end, relative to that of training: factors that a strong penalty has made few and short
# still want longer vectors.
_RELAXED = (1.0, 0.7, 0.5, 0.35)


class ALSSettings(Settings):
    """Plain ALS.

    Parameters
    ----------
    goal
        What ratings are for. ``"rate"`` predicts them. ``"rank"`` takes them as opinions (from -0.8 for the lowest to 1
        for the highest, `RatingScale.opinions`), and ranks: the settings are then those of clicks. Without ratings the
        goal is always ``"rank"``.
    rank
        Factors. For ratings ``"auto"`` judges 8 and 32 by the held-out tenth, for clicks 8, 32 and 128.
    rounds
        Passes over both sides. For ratings ``"auto"`` follows the penalties down from strong ones to the chosen one; it
        is 15 where a penalty is given, and for clicks 8.
    offset_penalty, penalty, count_exponent
        Ridge on offsets and factors, times (number of ratings) ** count_exponent. For ratings ``"auto"`` judges the
        penalties by the held-out tenth, with exponent 0.5; people's own may end weaker than that of training. For
        clicks offsets have no penalty, and that of a user with the mean number of clicks goes up from 0.05 times that
        number, by a factor of the root of 2, as long as held-out recall rises.
    gravity
        Weight of unseen items as zeros (clicks). ``"auto"`` is 3 times a user's mean number of clicks over the number
        of items in use (1 / sum of squared shares of the clicks): items that nobody uses change nothing.
    """

    goal: Goal = "rate"
    rank: Rank | Auto = "auto"
    rounds: Rounds | Auto = "auto"
    offset_penalty: Positive | Auto = "auto"
    penalty: Positive | Auto = "auto"
    count_exponent: Exponent | Auto = "auto"
    gravity: Positive | Auto = "auto"


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


class RatingsFit:
    """Where the alternation stands: one row of ``(offset, factors)`` for each item, from a random start."""

    def __init__(self, ratings: Ratings, rank: int, exponent: float, rng: np.random.Generator) -> None:
        self._ratings, self._rank, self._exponent = ratings, rank, exponent
        self._indptr, self._users, position = kernels.transpose(
            ratings.indptr, ratings.items, ratings.n_items
        )
        self._centre = ratings.scale.middle
        self._by_user = (ratings.values - self._centre).astype(np.float32)
        self._by_item = self._by_user[position]
        self._user_scale = np.maximum(np.diff(ratings.indptr), 1).astype(np.float32) ** exponent
        self._item_scale = np.maximum(np.diff(self._indptr), 1).astype(np.float32) ** exponent
        self._items = (rng.standard_normal((ratings.n_items, 1 + rank)) * 0.1).astype(np.float32)
        self._items[:, 0] = 0.0

    def round(self, offset_penalty: float, penalty: float) -> None:
        """One pass over both sides."""
        users = self._solve_users(offset_penalty, penalty)
        targets = self._by_item - users[self._users, 0]
        ridge = self._ridge(offset_penalty, penalty)
        rows = self._indptr, self._users, targets, _with_one(users)
        self._items = kernels.solve_rows(*rows, ridge, self._item_scale)

    def error(self, offset_penalty: float, penalty: float, held_out: Ratings) -> float:
        """Root mean squared error on other ratings of the same users, in the same order."""
        users = self._solve_users(offset_penalty, penalty)
        rows = np.repeat(np.arange(held_out.n_users), np.diff(held_out.indptr))
        items = self._items[held_out.items]
        predicted = self._centre + items[:, 0] + np.einsum("ij,ij->i", users[rows], _with_one(items))
        predicted = np.clip(predicted, *held_out.scale.range) if held_out.scale.range else predicted
        return float(np.sqrt(np.mean((predicted - held_out.values) ** 2)))

    def item_side(self, offset_penalty: float, penalty: float) -> ItemSide:
        """What serves, with these penalties for everybody's own numbers."""
        side = self._items.astype(np.float64)
        rule = Ridge(offset_penalty, penalty, self._exponent)
        return ItemSide(self._ratings.scale, self._centre, side[:, 0], side[:, 1:], rule)

    def _solve_users(self, offset_penalty: float, penalty: float) -> Singles:
        ratings, items = self._ratings, self._items
        targets = self._by_user - items[ratings.items, 0]
        ridge = self._ridge(offset_penalty, penalty)
        rows = ratings.indptr, ratings.items, targets, _with_one(items)
        return kernels.solve_rows(*rows, ridge, self._user_scale)

    def _ridge(self, offset_penalty: float, penalty: float) -> Singles:
        return np.array([offset_penalty] + [penalty] * self._rank, dtype=np.float32)


def _with_one(coefficients: Singles) -> Singles:
    design = coefficients.copy()
    design[:, 0] = 1.0
    return design


def train_ratings(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, progress: Progress
) -> tuple[ItemSide, int]:
    """The item side and how many rounds it took."""
    choice = choose(settings, ratings, rng, lambda done, total: progress("choosing penalties", done, total))
    rounds = _ROUNDS if settings.rounds == "auto" else settings.rounds
    penalties = [choice.penalty] * rounds
    if settings.rounds == "auto" and settings.penalty == "auto":
        penalties = [*descent(choice.unit, choice.penalty), *[choice.penalty] * _LAST_ROUNDS]
    fit = RatingsFit(ratings, choice.rank, choice.count_exponent, rng)
    for done, penalty in enumerate(penalties):
        progress("training", done, len(penalties))
        fit.round(choice.offset_penalty, penalty)
    progress("training", len(penalties), len(penalties))
    return fit.item_side(choice.offset_penalty, choice.relaxed * choice.penalty), len(penalties)


def choose(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, report: Callable[[int, int], None]
) -> Choice:
    """Replace every ``"auto"`` of the settings by a value."""
    exponent = _EXPONENT if settings.count_exponent == "auto" else settings.count_exponent
    ranks = _RANKS if settings.rank == "auto" else (settings.rank,)
    if settings.penalty != "auto":
        ranks = ranks[-1:]
    steps = int(settings.offset_penalty == "auto") + len(ranks) * int(settings.penalty == "auto")
    chosen = rng.random(ratings.n_ratings) < _HELD_OUT if steps else np.zeros(0, dtype=bool)
    if np.count_nonzero(chosen) < _FEWEST_HELD_OUT:
        offset_penalty = (
            _PLAIN_OFFSET_PENALTY if settings.offset_penalty == "auto" else settings.offset_penalty
        )
        spread = float(ratings.values.std()) if steps and ratings.n_ratings else 0.0
        unit = spread if spread > 0.0 else 1.0
        penalty = _PLAIN_PENALTY * unit if settings.penalty == "auto" else settings.penalty
        return Choice(ranks[0], offset_penalty, penalty, exponent, unit)
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
    """Penalties of the rounds, from strong to the ``lowest``."""
    yield from [_WARM_UP * unit] * 2
    penalty = _HIGHEST * unit
    while penalty > lowest * 1.001:
        yield from [penalty] * _ROUNDS_A_STEP
        penalty *= _STEP if penalty > _FINE_ABOVE * unit else _LONG_STEP


class _Judge:
    """Fits on most ratings, judged on the others; every candidate starts from the same random numbers."""

    def __init__(self, kept: Ratings, held_out: Ratings, exponent: float, seed: int) -> None:
        self._kept, self._held_out, self._exponent, self._seed = kept, held_out, exponent, seed

    def offsets(self, settings: ALSSettings) -> tuple[float, float]:
        """The error that offsets alone leave, and their penalty."""
        given, found = settings.offset_penalty, []
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
        errors: list[list[float]] = []
        penalties: list[float] = []
        for number, penalty in enumerate(descent(unit, _LOWEST * unit)):
            fit.round(offset_penalty, penalty)
            if number < 2 or (number - 1) % _ROUNDS_A_STEP:
                continue
            errors.append([fit.error(offset_penalty, share * penalty, self._held_out) for share in _RELAXED])
            penalties.append(penalty)
            if min(errors[-1]) > (1.0 + _RISE) * np.min(errors):
                break
        best = int(np.argmin(np.min(errors, axis=0)))
        lowest = _lowest_point(penalties, [step[best] for step in errors])
        return float(np.min(errors)), lowest, _RELAXED[best]

    def _start(self, rank: int) -> RatingsFit:
        return RatingsFit(self._kept, rank, self._exponent, np.random.default_rng(self._seed))


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
