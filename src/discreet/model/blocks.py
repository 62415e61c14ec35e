"""Many users at once, a block at a time: memory stays at block x (rank + n), never users x items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.catalogue import Catalogue
from discreet.errors import HistoryInvalid
from discreet.model.history import Histories
from discreet.model.item_weights import AnySide, ItemWeights
from discreet.model.listing import drowned, order_terms
from discreet.types import Bools, Floats

__all__ = ["Block", "check_histories", "fold_in_blocks", "score_top"]

BLOCK = 8192


class Block(NamedTuple):
    """Consecutive users, their entries as compressed rows of their own, and their coefficients."""

    users: slice
    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[Any]
    coefficients: Any


def fold_in_blocks(item_side: AnySide, histories: Histories, size: int = BLOCK) -> Iterator[Block]:
    """Each block of users with the coefficients that follow from their own histories."""
    n_users = len(histories.indptr) - 1
    for start in range(0, n_users, size):
        users = slice(start, min(start + size, n_users))
        bounds = histories.indptr[users.start : users.stop + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        indptr = bounds - bounds[0]
        items = histories.items[entries]
        yield Block(users, indptr, items, item_side.fold_in(indptr, items, histories.values[entries]))


def score_top(
    item_side: AnySide,
    coefficients: Any,
    n: int,
    seen: tuple[npt.NDArray[np.int64], npt.NDArray[Any]] | None = None,
    allowed: Bools | None = None,
    *,
    by_popularity: bool = False,
) -> tuple[npt.NDArray[np.int32], Floats]:
    """Positions (-1 where fewer remain) and scores (NaN there) of the ``n`` best items of each user.

    The order follows the unclipped score, so that items above the range are still told apart, or popularity and score
    together (:mod:`discreet.model.listing`); the score that is handed out is the same number ``predict`` gives.
    """
    if isinstance(item_side, ItemWeights):
        return item_side.top(coefficients, min(n, item_side.n_items), seen, allowed)
    indptr, items = (None, None) if seen is None else seen
    design, level = order_terms(item_side, by_popularity)
    if by_popularity and drowned(item_side):
        allowed = np.zeros(item_side.n_items, np.bool_)
    index, scores = kernels.top_n(
        coefficients,
        design,
        level,
        min(n, item_side.n_items),
        exclude_indptr=indptr,
        exclude_items=items,
        allowed=allowed,
    )
    if not by_popularity:
        return index, item_side.clipped(scores)
    found = index >= 0
    scores[found] = item_side.predict(coefficients, np.nonzero(found)[0], index[found])
    return index, scores


def check_histories(histories: Histories, catalogue: Catalogue, item_side: AnySide) -> None:
    """Refuse histories over another catalogue or with values the model cannot take."""
    if histories.catalogue is None or histories.catalogue != catalogue:
        raise HistoryInvalid(
            "the histories are not numbered by the model's catalogue; read them with "
            "catalogue=model.catalogue, or convert them with ratings.with_catalogue(model.catalogue)"
        )
    values = np.asarray(histories.values)
    low, high = item_side.scale.bounds
    fine = (values >= low) & (values <= high)
    signed = isinstance(item_side, ItemWeights) and not item_side.scale.explicit
    wrong = np.flatnonzero(~(fine | (values == -1.0) if signed else fine))
    if len(wrong):
        row = int(np.searchsorted(histories.indptr, wrong[0], side="right")) - 1
        clicks = "1, or -1 for what is not for somebody" if signed else "1 (implicit feedback)"
        wanted = f"in {low:g} to {high:g}" if item_side.scale.explicit else clicks
        raise HistoryInvalid(
            f"user {histories.user_ids[row]!r} has the value {values[wrong[0]]:g}, which must be {wanted}; "
            "read the histories with the rating range the model was trained with"
        )
