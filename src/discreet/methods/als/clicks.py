"""Plain ALS on clicks, or on ratings to rank by: rank and penalty are judged on a held-out tenth (decision 88).

This looks at the clicks as it likes: nothing here is private.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.data.ratings import Ratings
from discreet.evaluation.metrics import recall_at_k
from discreet.methods.als.click_factors import ClickFactors
from discreet.methods.als.settings import ALSSettings
from discreet.model.blocks import fold_in_blocks, score_top
from discreet.model.item_side import ItemSide

__all__ = ["train_clicks"]

_RANKS = (8, 32, 128)
_ROUNDS = 8
_EXPONENT = 0.5
_GRAVITY = 3.0
# The weakest penalty of a user with the mean number of clicks, as a share of it; and how much stronger the next is.
_PENALTY_SHARE = 0.05
_STEP = 2.0**0.5
_MOST_STEPS = 9
# Rounds from the start to the weakest penalty, and from one penalty to the next.
_FIRST_ROUNDS, _MORE_ROUNDS = 4, 2
_HELD_OUT = 0.1
# Below this the held-out tenth says nothing; above that more of the users say no more.
_FEWEST_HELD_OUT = 50
_MOST_USERS = 20_000
_LISTED = 20


def train_clicks(
    settings: ALSSettings,
    ratings: Ratings,
    rng: np.random.Generator,
    progress: Callable[[str, int, int], None],
) -> tuple[ItemSide, int]:
    """The item side and how many rounds it took."""
    exponent = _EXPONENT if settings.count_exponent == "auto" else settings.count_exponent
    rank, penalty = _choose(settings, ratings, exponent, rng, progress)
    rounds = _ROUNDS if settings.rounds == "auto" else settings.rounds
    fit = ClickFactors(ratings, rank, _gravity(settings, ratings), exponent, rng)
    for done in range(rounds):
        progress("training", done, rounds)
        fit.round(penalty)
    progress("training", rounds, rounds)
    return fit.item_side(penalty), rounds


def _choose(
    settings: ALSSettings,
    ratings: Ratings,
    exponent: float,
    rng: np.random.Generator,
    progress: Callable[[str, int, int], None],
) -> tuple[int, float]:
    """Rank and penalty, as given or as judged."""
    ranks = _RANKS if settings.rank == "auto" else (settings.rank,)
    weakest = _PENALTY_SHARE * _clicks_per_user(ratings) ** (1.0 - exponent)
    if settings.penalty != "auto":
        weakest = settings.penalty
    if len(ranks) == 1 and (settings.penalty != "auto" or ranks[0] == 0):
        return ranks[0], weakest
    chosen = rng.random(ratings.n_ratings) < _HELD_OUT
    if np.count_nonzero(chosen) < _FEWEST_HELD_OUT:
        return ranks[0], weakest
    kept, held_out = ratings.keep(~chosen), ratings.keep(chosen)
    gravity, seed = _gravity(settings, kept), int(rng.integers(2**62))
    found: list[tuple[float, int, float]] = []
    for done, rank in enumerate(ranks):
        progress("choosing rank and penalty", done, len(ranks))
        fit = ClickFactors(kept, rank, gravity, exponent, np.random.default_rng(seed))
        steps = 1 if settings.penalty != "auto" else _MOST_STEPS
        recall, penalty = _climb(fit, weakest, steps, kept, held_out)
        found.append((recall, rank, penalty))
    progress("choosing rank and penalty", len(ranks), len(ranks))
    _, rank, penalty = max(found)
    return rank, penalty


def _climb(
    fit: ClickFactors, weakest: float, steps: int, kept: Ratings, held_out: Ratings
) -> tuple[float, float]:
    """The best recall on the way up from a weak penalty, and the penalty there; it ends where recall falls.

    Upward, because factors that have vanished under a strong penalty do not come back under a weaker one.
    """
    best = (-1.0, weakest)
    for step in range(steps):
        penalty = weakest * _STEP**step
        for _ in range(_MORE_ROUNDS if step else _FIRST_ROUNDS):
            fit.round(penalty)
        recall = _recall(fit.item_side(penalty), kept, held_out)
        if recall <= best[0]:
            break
        best = (recall, penalty)
    return best


def _recall(side: ItemSide, kept: Ratings, held_out: Ratings) -> float:
    """Recall@20 of the held-out clicks, at most some thousand users'."""
    users = np.arange(min(kept.n_users, _MOST_USERS))
    kept, held_out = kept.take_users(users), held_out.take_users(users)
    ranking = np.full((len(users), min(_LISTED, side.n_items)), -1, dtype=np.int32)
    for part in fold_in_blocks(side, kept):
        ranking[part.users], _ = score_top(side, part.coefficients, _LISTED, (part.indptr, part.items))
    return recall_at_k(ranking, held_out.indptr, held_out.items, _LISTED)


def _gravity(settings: ALSSettings, ratings: Ratings) -> float:
    if settings.gravity != "auto":
        return settings.gravity
    return _GRAVITY * _clicks_per_user(ratings) / _items_in_use(ratings)


def _clicks_per_user(ratings: Ratings) -> float:
    return max(ratings.n_ratings, 1) / max(ratings.n_users, 1)


def _items_in_use(ratings: Ratings) -> float:
    """1 / sum of squared shares of the clicks: how many items would be in use if all were used alike.

    An item that nobody uses adds nothing.
    """
    counts = np.bincount(ratings.items, minlength=ratings.n_items).astype(np.float64)
    shares = counts / max(ratings.n_ratings, 1)
    return 1.0 / max(float((shares**2).sum()), 1e-12)
