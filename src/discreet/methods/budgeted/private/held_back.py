"""How well candidates suit each user: do their lists bring back what the user holds back? Each from their own items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.kernels.ranking import panels
from discreet.methods.budgeted.public.questions import PenaltyQuestion
from discreet.types import Bools, Floats

__all__ = ["found_again"]

# Share of a user's items to hold back, how long the lists are in which they are looked for, and how much of the
# catalogue they may be: in a list of everything everything is found.
_HELD_BACK = 0.2
_LISTED = 20
_MOST_LISTED = 0.2
_RANGE = 2.0**32
_BLOCK = 8192


def found_again(ratings: Ratings, question: PenaltyQuestion) -> Floats:
    """Users x candidates: share of a user's held-back items in the list that follows from the others.

    The last candidate is the order by popularity, where that is one.
    Zeros for users who do not take part, and for those who hold back nothing or everything.
    """
    found = np.zeros((ratings.n_users, question.mechanism.candidates))
    mine = _own_numbers(ratings, question.seed)
    asked = np.flatnonzero(mine < question.share * _RANGE)
    for start in range(0, len(asked), _BLOCK):
        rows = asked[start : start + _BLOCK]
        found[rows] = _found(ratings.take_users(rows), question)
    return found


def _found(ratings: Ratings, question: PenaltyQuestion) -> Floats:
    held = _held_back(ratings, question.seed)
    kept, wanted = ratings.keep(~held), ratings.keep(held)
    counts = np.diff(wanted.indptr)
    usable = (counts > 0) & (np.diff(kept.indptr) > 0)
    owners = np.repeat(np.arange(ratings.n_users), counts)
    design, listed = panels(question.side.design()), _length(question.side.n_items)
    shares = np.zeros((ratings.n_users, question.mechanism.candidates))
    for column, (coefficients, offsets) in enumerate(_candidates(kept, question)):
        lists, _ = kernels.top_n(coefficients, design, offsets, listed, kept.indptr, kept.items)
        hits = (lists[owners] == wanted.items[:, np.newaxis]).any(axis=1)
        shares[:, column] = np.bincount(owners[hits], minlength=ratings.n_users) / np.maximum(counts, 1)
    shares[~usable] = 0.0
    return shares


def _candidates(kept: Ratings, question: PenaltyQuestion) -> Iterator[tuple[Floats, Floats]]:
    """Coefficients of users and offsets of items, from which lists follow."""
    side = question.side
    for penalty in question.penalties.tolist():
        held = replace(side, rule=replace(side.clicks, factor_penalty=penalty))
        yield held.fold_in(kept.indptr, kept.items, kept.values), side.offsets
    if question.popular is not None:
        yield np.zeros((kept.n_users, 1 + side.rank)), question.popular


def _length(n_items: int) -> int:
    return max(1, min(_LISTED, int(_MOST_LISTED * n_items)))


def _item_numbers(n_items: int, seed: int) -> npt.NDArray[np.uint32]:
    """A public random number for each item."""
    return np.random.default_rng(seed).integers(0, 2**32, n_items, dtype=np.uint32)


def _own_numbers(ratings: Ratings, seed: int) -> npt.NDArray[np.uint32]:
    """A number for each user that follows from their own items: the sum of these, modulo 2^32, mixed once more."""
    numbers = _item_numbers(ratings.n_items, seed)[ratings.items].astype(np.uint64)
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(numbers, dtype=np.uint64)])
    return _mixed((ends[ratings.indptr[1:]] - ends[ratings.indptr[:-1]]).astype(np.uint32))


def _held_back(ratings: Ratings, seed: int) -> Bools:
    """Which entries their users hold back: other items of each user, by the user's number and the item's."""
    counts = np.diff(ratings.indptr)
    mine = np.repeat(_own_numbers(ratings, seed), counts)
    return _mixed(_item_numbers(ratings.n_items, seed)[ratings.items] ^ mine) < _HELD_BACK * _RANGE


def _mixed(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Another number for each, in which all bits count (the finaliser of MurmurHash3); wraps around by design."""
    mixed = numbers.copy()
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed ^= mixed >> np.uint32(shift)
        mixed *= np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    return mixed
