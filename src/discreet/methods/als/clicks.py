"""Plain ALS on clicks, or on ratings to rank by: rank and penalty are judged on a held-out tenth (docs/lab/als.md).

This looks at the clicks as it likes: nothing here is private.
"""

from __future__ import annotations

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.evaluation.metrics import recall_at_k
from discreet.methods.als.ratings import ALSSettings, Progress
from discreet.model.fold_in import Clicks
from discreet.model.history import top_items
from discreet.model.item_side import ItemSide
from discreet.types import Singles

__all__ = ["ClicksFit", "train_clicks"]

_RANKS = (8, 32, 128)
_ROUNDS = 8
_EXPONENT = 0.5
_GRAVITY = 3.0
# The weakest penalty of a user with the mean number of clicks, as a share of it; and how much stronger the next is.
_PENALTY_SHARE, _STEP, _MOST_STEPS = 0.05, 2.0**0.5, 9
# Rounds from the start to the weakest penalty, and from one penalty to the next.
_FIRST_ROUNDS, _MORE_ROUNDS = 4, 2
# What is held out; below so many clicks that says nothing, above so many users no more.
_HELD_OUT, _FEWEST_HELD_OUT, _MOST_USERS, _LISTED = 0.1, 50, 20_000, 20


class ClicksFit:
    """Where the alternation stands: what was taken is 1, or what its rating says, and everything, weakly, zero.

    An item's offset is the score that everybody gives it; without one, factors have to hold popularity too. Offsets
    have no penalty; that of a row's factors is multiplied by (its number of clicks) ** exponent.
    """

    def __init__(
        self, ratings: Ratings, rank: int, gravity: float, exponent: float, rng: np.random.Generator
    ) -> None:
        self._ratings, self._rank, self._gravity, self._exponent = ratings, rank, gravity, exponent
        self._indptr, self._users, position = kernels.transpose(
            ratings.indptr, ratings.items, ratings.n_items
        )
        self._by_user = ratings.scale.opinions(ratings.values).astype(np.float32)
        self._by_item = self._by_user[position]
        counts = np.diff(self._indptr)
        self._user_scale = np.maximum(np.diff(ratings.indptr), 1).astype(np.float32) ** exponent
        self._item_scale = np.maximum(counts, 1).astype(np.float32) ** exponent
        taken = counts / max(ratings.n_users, 1)
        self._offsets: Singles = (taken / (taken + gravity)).astype(np.float32)
        self._factors: Singles = (rng.standard_normal((ratings.n_items, rank)) * 0.1).astype(np.float32)
        # An item that nobody uses ends as zeros; it must not weigh at the start either.
        self._factors[counts == 0] = 0.0

    def round(self, penalty: float) -> None:
        """One pass over both sides."""
        ridge = np.full(self._rank, penalty, dtype=np.float32)
        users = self._solve_users(ridge)
        # About their mean: what all users share is the offset's, and would cost the factors their digits.
        mean = users.mean(axis=0)
        design = np.insert(users - mean, 0, 1.0, axis=1)
        solved = kernels.solve_rows(
            *(self._indptr, self._users, self._by_item, design, np.insert(ridge, 0, 0.0), self._item_scale),
            gram=self._gravity * (design.T @ design),
        )
        self._factors = solved[:, 1:]
        self._offsets = solved[:, 0] - self._factors @ mean

    def item_side(self, penalty: float) -> ItemSide:
        """What serves, with the same penalty for people who join later."""
        offsets, factors = self._offsets.astype(np.float64), self._factors.astype(np.float64)
        rule = Clicks(self._gravity, penalty, self._exponent)
        return ItemSide(self._ratings.scale, 0.0, offsets, factors, rule)

    def recall(self, penalty: float, held_out: Ratings) -> float:
        """Recall@20 of the same users' held-out clicks, at most some thousand users'."""
        side, users = self.item_side(penalty), np.arange(min(self._ratings.n_users, _MOST_USERS))
        kept, held_out = self._ratings.take_users(users), held_out.take_users(users)
        return recall_at_k(top_items(side, kept, _LISTED), held_out.indptr, held_out.items, _LISTED)

    def _solve_users(self, ridge: Singles) -> Singles:
        ratings, factors, offsets = self._ratings, self._factors, self._offsets
        targets = kernels.above_offsets(ratings.items, self._by_user, offsets, kind=np.float32)
        return kernels.solve_rows(
            *(ratings.indptr, ratings.items, targets, factors, ridge, self._user_scale),
            gram=self._gravity * (factors.T @ factors),
            rhs=-self._gravity * (factors.T @ offsets),
        )


def train_clicks(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, progress: Progress
) -> tuple[ItemSide, int]:
    """The item side and how many rounds it took."""
    exponent = _EXPONENT if settings.count_exponent == "auto" else settings.count_exponent
    rank, penalty = _choose(settings, ratings, exponent, rng, progress)
    rounds = _ROUNDS if settings.rounds == "auto" else settings.rounds
    fit = ClicksFit(ratings, rank, _gravity(settings, ratings), exponent, rng)
    for done in range(rounds):
        progress("training", done, rounds)
        fit.round(penalty)
    progress("training", rounds, rounds)
    return fit.item_side(penalty), rounds


def _choose(
    settings: ALSSettings, ratings: Ratings, exponent: float, rng: np.random.Generator, progress: Progress
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
        fit = ClicksFit(kept, rank, gravity, exponent, np.random.default_rng(seed))
        recall, penalty = _climb(fit, weakest, 1 if settings.penalty != "auto" else _MOST_STEPS, held_out)
        found.append((recall, rank, penalty))
    progress("choosing rank and penalty", len(ranks), len(ranks))
    _, rank, penalty = max(found)
    return rank, penalty


def _climb(fit: ClicksFit, weakest: float, steps: int, held_out: Ratings) -> tuple[float, float]:
    """The best recall on the way up from a weak penalty, and the penalty there; it ends where recall falls.

    Upward, because factors that have vanished under a strong penalty do not come back under a weaker one.
    """
    best = (-1.0, weakest)
    for step in range(steps):
        penalty = weakest * _STEP**step
        for _ in range(_MORE_ROUNDS if step else _FIRST_ROUNDS):
            fit.round(penalty)
        recall = fit.recall(penalty, held_out)
        if recall <= best[0]:
            break
        best = (recall, penalty)
    return best


def _gravity(settings: ALSSettings, ratings: Ratings) -> float:
    """Three times a user's mean number of clicks over the number of items in use, were all used alike."""
    if settings.gravity != "auto":
        return settings.gravity
    counts = np.bincount(ratings.items, minlength=ratings.n_items).astype(np.float64)
    shares = counts / max(ratings.n_ratings, 1)
    in_use = 1.0 / max(float((shares**2).sum()), 1e-12)
    return _GRAVITY * _clicks_per_user(ratings) / in_use


def _clicks_per_user(ratings: Ratings) -> float:
    return max(ratings.n_ratings, 1) / max(ratings.n_users, 1)
