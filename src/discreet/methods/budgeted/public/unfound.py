"""How much taste the noise kept a run on ratings from finding. Public: sees releases only.

Directions of taste are found by power iteration: people's vectors follow the items' factors, and the factors follow the
vectors. Take a direction of power p: the mean square of its factors over what people take, where people vary by 1. Of
the variance of a person's vector it makes up about ``p n / s^2``, the rest is scatter of their n ratings, each of
variance s^2. So it has the variance ``p^2 n / s^2`` in an item's gradients, beside the noise ``1 / known``, and grows
from round to round only above

    threshold = sqrt(s^2 / n / known)

That falls with mu, and not with its square as the noise of an item's numbers does. So what a model misses is mostly
what was hidden, and not the noise in what was found.

Two questions are asked of it. How to divide a budget (`power_there`, `missed`) is answered by what is expected of the
usual item. How far scores are off (`unfound`) is measured against runs without noise.
"""

from __future__ import annotations

import numpy as np

from discreet.methods.budgeted.public.plan import Activity
from discreet.types import Floats

__all__ = ["missed", "missing", "power_there", "unexplained", "unfound"]

# The threshold in rounds that are few, of which the first are the noisiest, in units of the one above: measured
# (docs/decisions/0087-taste-that-noise-hides.md).
_ROUNDS = 7.0
# Power of a direction of which nothing was found, in units of the threshold.
_HIDDEN = 0.5
# The threshold for what scores miss, where ``known`` is a mean over items that are known well and items that are not
# (docs/decisions/0115-errors-by-what-is-known.md).
_MISSED = 4.0
# The same threshold without noise, where the scatter of an item's own ratings takes its place.
_WITHOUT_NOISE = 2.0
# The users' ridge after the last round, in units of the squared residual.
_RIDGE = 2.0
# How soon what ratings leave unexplained counts as scatter of single ratings, as their share of the whole grows.
_SCATTER = 8
# How soon it counts as noise of items' numbers, as their share grows: runs that are mostly noise were off by all of it.
_NOISY = 16


def unfound(power: Floats, known: float, ratings: float, square: float, activity: Activity) -> float:
    """Variance of scores that the same run without noise would have explained beside what this one does.

    Parameters
    ----------
    power
        Of each direction that was found: mean square of its factors over what people take.
    known
        What all rounds told about a usual item: one over the variance of their noise.
    ratings
        How many a usual item has.
    square
        Squared residual of single ratings.
    activity
        How many ratings people have.

    Notes
    -----
    With the threshold for a noise, of a true power p a best linear estimate shows ``p^2 / (p + threshold)``; solved for
    p that gives what was there. A direction of which nothing was found may be as strong as the threshold, less what
    a run without noise would not show either: ``(q / threshold)^2`` of it, with q the threshold without noise. A score
    holds what a user's ridge regression makes of a direction, so of power p it holds ``h^2 (p + s^2 / n)`` with
    ``h = n p / (n p + ridge)``, averaged over people.
    """
    threshold = _MISSED / _ROUNDS * _threshold(known, square, activity)
    most = threshold * max(1.0 - (_least(ratings, square, activity) / threshold) ** 2, 0.0)
    there = np.maximum(_solved(power, threshold), most)
    hidden = (_in_scores(there, square, activity) - _in_scores(power, square, activity)).sum()
    return float(hidden)


def missing(hidden: float, square: float, noise: float, fell: float, activity: Activity) -> float:
    """Variance of what is missing in all scores of a person.

    Parameters
    ----------
    hidden
        What is expected of it where people's ratings scatter.
    square
        Squared residual as the last round stated it: before its own step.
    noise
        Variance that the noise of the items' numbers had in scores by then.
    fell
        What the round before had left of its own squared residual, at most 1.
    activity
        How much ratings vary.

    Notes
    -----
    How much scatter there is cannot be told from what has not been found yet. But people's ratings scatter by a good
    part of what they vary by. Where next to nothing is left of that, the residual is all that can be wrong, whatever
    else is expected: it is what the noise hid, or what the items' noise makes of it.
    """
    none = max(1.0 - square / max(activity.within, square), 0.0) ** _SCATTER
    least = none * unexplained(square, noise, fell)
    most = (1.0 - none) * max(square - noise, 0.0) + least
    return min(max(hidden, least), most)


def unexplained(square: float, noise: float, fell: float) -> float:
    """What the last step has left of a residual without scatter: a run without noise would go on to explain it.

    Notes
    -----
    The step leaves of what was hidden what the one before left, and brings the noise of items back as it was. Where
    that noise is the whole residual nothing is hidden, and the step has taken it away.
    """
    share = min(noise / square, 1.0)
    return square * (share + (1.0 - share) * fell) * (1.0 - share**_NOISY)


def power_there(power: Floats, known: float, ratings: float, square: float, activity: Activity) -> Floats:
    """Power that directions are expected to have in truth, where ``power`` was found."""
    threshold = _threshold(known, square, activity)
    hidden = _HIDDEN * threshold
    hidden *= max(1.0 - (_least(ratings, square, activity) / hidden) ** 2, 0.0)
    there: Floats = np.maximum(_solved(power, threshold), hidden)
    return there


def _solved(power: Floats, threshold: float) -> Floats:
    solved: Floats = 0.5 * (power + np.sqrt(power * (power + 4.0 * threshold)))
    return solved


def _least(ratings: float, square: float, activity: Activity) -> float:
    """The threshold without noise."""
    return _WITHOUT_NOISE * float(np.sqrt(square / activity.ratings_per_user * square / ratings))


def missed(there: Floats, known: float, square: float, activity: Activity) -> float:
    """Variance of scores that is not found of directions of the true power ``there``."""
    found = np.square(there) / np.maximum(
        there + _threshold(known, square, activity), np.finfo(np.float64).tiny
    )
    return float((_in_scores(there, square, activity) - _in_scores(found, square, activity)).sum())


def _threshold(known: float, square: float, activity: Activity) -> float:
    return _ROUNDS * float(np.sqrt(square / activity.ratings_per_user / known))


def _in_scores(power: Floats, square: float, activity: Activity) -> Floats:
    """Variance of people's scores along directions of this power."""
    counts = activity.sizes[:, np.newaxis]
    held = counts * power / (counts * power + _RIDGE * square)
    variance: Floats = activity.shares @ (np.square(held) * (power + square / counts))
    return variance
