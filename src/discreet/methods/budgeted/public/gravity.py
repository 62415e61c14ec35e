"""How strongly everything that was not taken pulls scores toward zero (clicks). Public: sees releases only.

The score of a taken item under gravity g is about d / (d + g), where d is how often people with the same taste take
it. A gravity that suits one market is far off in another, but the score that suits what was taken is nearly the same
everywhere. So the rule fixes that score, which is released anyway, and gravity follows. Items that nobody uses, more
users, or a copy of all data leave it where it is.
"""

from __future__ import annotations

import numpy as np

from discreet.types import Floats

__all__ = ["first_gravity", "gravity_noise", "settled_gravity"]

# Mean score to give to what was taken (docs/decisions/0044-gravity-by-score.md), and the difficulty at which noise
# takes half of it: a taste that cannot be found lifts no score.
_SCORE = 0.25
_HALF_HARD = 0.15
# Taste at least doubles how often people take what they take.
_LIFT = 2.0
_MOST_GRAVITY = 1.0
# Most that one round may change it by.
_MOST_CHANGE = 8.0
_LEAST_SCORE, _MOST_SCORE = 0.02, 0.98
# Noise of a score at which half of a change is believed.
_CLEAR = 0.05


def first_gravity(taken: Floats) -> float:
    """Gravity to begin with: twice that at which popularity alone would give what was taken that score.

    Parameters
    ----------
    taken
        Released share of users who took each item, above zero.
    """
    low, high = np.log(1e-9), np.log(_MOST_GRAVITY)
    for _ in range(60):
        middle = 0.5 * (low + high)
        score = float((taken * taken / (taken + np.exp(middle))).sum() / taken.sum())
        low, high = (middle, high) if score > _SCORE else (low, middle)
    return min(_LIFT * float(np.exp(0.5 * (low + high))), _MOST_GRAVITY)


def settled_gravity(gravity: float, score: float, sigma: float = 0.0, hard: float = 0.0) -> float:
    """Gravity at which what had ``score`` on average under ``gravity`` would have the right one.

    Parameters
    ----------
    gravity, score
        As they are, the score as released.
    sigma
        Noise of the score: it is followed the less the more that is.
    hard
        Difficulty of the whole run. Noise hides taste, so the scores that suit are lower than without it; to follow
        them with a lower gravity would give noise the say.
    """
    score = min(max(score, _LEAST_SCORE), _MOST_SCORE)
    believed = _believed(sigma)
    aim = _SCORE / (1.0 + (hard / _HALF_HARD) ** 2)
    goal = gravity * ((score / (1.0 - score)) * ((1.0 - aim) / aim)) ** believed
    return float(min(max(goal, gravity / _MOST_CHANGE), gravity * _MOST_CHANGE, _MOST_GRAVITY))


def gravity_noise(score: float, sigma: float) -> float:
    """Relative standard deviation of a gravity that has followed ``score``, whose noise is ``sigma``; at most 1."""
    score = min(max(score, _LEAST_SCORE), _MOST_SCORE)
    return min(_believed(sigma) * sigma / (score * (1.0 - score)), 1.0)


def _believed(sigma: float) -> float:
    return 1.0 / (1.0 + (sigma / _CLEAR) ** 2)
