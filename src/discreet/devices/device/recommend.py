"""Recommendations on the device: from its own ratings and the released item side, at no cost."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping

from .fold_in import fold_in
from .item_side import DeviceItemSide
from .question import QuestionInvalid

__all__ = ["recommend"]


def recommend(
    ratings: Mapping[int, float],
    side: DeviceItemSide,
    rating_range: tuple[float, float],
    n: int = 10,
) -> list[tuple[int, float]]:
    """The ``n`` best items, best first, and their predictions.

    Best is what a recommendation can be expected to bring: the item's popularity, which says how likely anybody takes
    it, times its predicted rating above the lowest one, for a person whose usual rating is the middle of the range.
    Items of which offsets and factors say nothing come in the order of their popularity. The person's own offset is
    not in it: it is the same for all items, and with it everything would be worth nothing to somebody who has given
    the lowest rating so far. Where no popularity was released, the order is that of the predictions; where the same was
    released for all items, noise drowned it, and there is no list. Ties go to the more popular item, then to the lower
    index.

    Notes
    -----
    **Privacy**. Nothing leaves the device: this costs no budget.
    """
    if len(side.popularity) > 1 and min(side.popularity) == max(side.popularity):
        return []
    low, high = rating_range
    rated = sorted(ratings)
    if any(not 0 <= item < side.items for item in rated):
        raise QuestionInvalid(f"an item is outside of the catalogue of {side.items}")
    own, *vector = fold_in(rated, [float(ratings[item]) for item in rated], side)
    items = [item for item in range(side.items) if item not in ratings]
    scores, worth = {}, {}
    for item in items:
        score = side.centre + own + (side.offsets[item] if side.offsets else 0.0)
        for d, one in enumerate(vector):
            score += one * side.factors[item * side.rank + d]
        often = side.popularity[item] if side.popularity else 0.0
        value = often * (score - (low + own)) if side.popularity else score
        scores[item] = min(max(score, low), high)
        worth[item] = (
            math.inf if math.isnan(value) else -value,
            -often,
            item,
        )  # a hostile item side may overflow
    return [(item, scores[item]) for item in heapq.nsmallest(n, items, key=worth.__getitem__)]
