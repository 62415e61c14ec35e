"""Mean percentile rank of the test items (prototypes paper, equation 3; Hu et al. 2008)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.model import Model
from discreet.types import Floats

__all__ = ["evaluate_percentile_rank", "percentile_ranks"]

Index = npt.NDArray[Any]


def percentile_ranks(scores: Callable[[int], Floats], indptr: Index, items: Index) -> Floats:
    """Percentile of each test item in its user's order of all items: 0 is first, 1 is last, ties share the middle.

    Parameters
    ----------
    scores
        Gives the scores of all items for a user, higher is better.
    indptr, items
        Test items of each user, compressed.
    """
    found = np.empty(len(items))
    for user in range(len(indptr) - 1):
        mine = slice(int(indptr[user]), int(indptr[user + 1]))
        if mine.start < mine.stop:
            own = scores(user)
            ordered = np.sort(own)
            below = np.searchsorted(ordered, own[items[mine]], side="left")
            upto = np.searchsorted(ordered, own[items[mine]], side="right")
            found[mine] = (len(own) - (below + upto + 1) / 2.0) / max(len(own) - 1, 1)
    return found


def evaluate_percentile_rank(model: Model, history: Ratings, test: Ratings) -> float:
    """Mean percentile rank of the test ratings among all items, each weighted with its rating; 0.5 is a random order.

    Items of the history stay in the order. NaN where there is nothing to weight with.
    """
    weight = float(test.values.sum())
    if not weight > 0.0:
        return float("nan")
    side, rows = model.factors, history.for_users(test.user_ids)
    coefficients = side.fold_in(rows.indptr, rows.items, rows.values)
    design, level = side.order_terms
    places = percentile_ranks(lambda user: design @ coefficients[user] + level, test.indptr, test.items)
    return float(places @ test.values) / weight
