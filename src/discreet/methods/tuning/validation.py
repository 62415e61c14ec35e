"""How good a released model is for the people in the data: a noisy score on ratings that training did not see."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.data.ratings import Ratings
from discreet.evaluation.metrics import hits
from discreet.methods.shared.private.sampling import draw_numbers
from discreet.model.blocks import fold_in_blocks, score_top
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.mechanism import release
from discreet.privacy.gaussian.scores import LossAndCount
from discreet.types import Floats

__all__ = ["RANKED", "Score", "release_score", "split_validation", "user_losses"]


RANKED = 20
"""Length of the rankings that a model that ranks is scored by."""


class Score(NamedTuple):
    """What is released about a model's quality.

    ``total`` is the noisy sum over users of their loss less 1/2: lower is better. ``value`` is for people to read: a
    root mean squared error in stars, or Recall@20.
    """

    total: float
    value: float


def split_validation(ratings: Ratings, share: float, seed: int) -> tuple[Ratings, Ratings]:
    """Training and validation part of everybody's ratings.

    Of a user with k >= 2 ratings the validation part has max(1, floor(share k)); of others nothing. Which ones is
    decided by a hash of the user's own ratings and the public seed: no user's split depends on other users.
    """
    counts = np.diff(ratings.indptr)
    wanted = np.where(counts >= 2, np.maximum(1, np.floor(share * counts)), 0)
    users = np.repeat(np.arange(ratings.n_users), counts)
    order = np.lexsort((draw_numbers(ratings, seed), users))
    places = np.arange(ratings.n_ratings) - np.repeat(ratings.indptr[:-1], counts)
    held = np.zeros(ratings.n_ratings, dtype=bool)
    held[order] = places < np.repeat(wanted, counts)
    return ratings.keep(~held), ratings.keep(held)


def user_losses(side: ItemSide, training: Ratings, validation: Ratings) -> Floats:
    """Each user's loss on their validation part, between 0 and 1; 0 for a user without one.

    Of a model that rates the mean squared error in units of half the range, each square at most 1, predicted from the
    user's own training part. Of one that ranks 1 - Recall@20 of the ranking of all items outside the training part.
    """
    counts = np.diff(validation.indptr)
    losses = np.zeros(len(counts))
    if side.goal == "rank":
        losses = 1.0 - _hits(side, training, validation) / np.maximum(np.minimum(counts, RANKED), 1)
    elif validation.n_ratings:
        filled = counts > 0
        sums = np.add.reduceat(_squares(side, training, validation), validation.indptr[:-1][filled])
        losses[filled] = sums / counts[filled]
    return np.where(counts > 0, np.clip(np.nan_to_num(losses, nan=1.0), 0.0, 1.0), 0.0)


def release_score(
    gate: Gate, name: str, side: ItemSide, training: Ratings, validation: Ratings, *, mu: float
) -> Score:
    """The noisy score of a released model.

    Notes
    -----
    **Privacy**. mu-GDP for adding or removing one user: nobody's split or loss depends on who else is there, and
    :class:`~discreet.privacy.gaussian.scores.LossAndCount` bounds what a loss can move. What choosing among scored
    models costs is in ``privacy/proofs/selection.md``.
    """
    losses = user_losses(side, training, validation)
    total, mean = release(gate, name, LossAndCount(), losses, np.diff(validation.indptr) > 0, mu=mu)
    if side.goal == "rank":
        return Score(total, 1.0 - mean)
    return Score(total, side.scale.half_width * mean**0.5)


def _squares(side: ItemSide, training: Ratings, validation: Ratings) -> Floats:
    predicted = np.empty(validation.n_ratings)
    for part in fold_in_blocks(side, training):
        bounds = validation.indptr[part.users.start : part.users.stop + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        users = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        predicted[entries] = side.predict(part.coefficients, users, validation.items[entries])
    squares: Floats = np.clip(((predicted - validation.values) / side.scale.half_width) ** 2, 0.0, 1.0)
    return np.nan_to_num(squares, nan=1.0)


def _hits(side: ItemSide, training: Ratings, validation: Ratings) -> Floats:
    """How many of each user's validation items are among their first 20."""
    ranking = np.full((validation.n_users, min(RANKED, side.n_items)), -1, dtype=np.int32)
    for part in fold_in_blocks(side, training):
        ranking[part.users], _ = score_top(side, part.coefficients, RANKED, (part.indptr, part.items))
    found: Floats = hits(ranking, validation.indptr, validation.items).sum(axis=1).astype(np.float64)
    return found
