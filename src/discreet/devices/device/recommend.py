"""Recommendations on the device: from its own ratings and the released item side, at no cost."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping

from .fold_in import fold_in
from .item_side import DeviceItemSide
from .question import QuestionInvalid

__all__ = ["predict", "recommend"]


def predict(
    ratings: Mapping[int, float],
    side: DeviceItemSide,
    rating_range: tuple[float, float],
    items: Iterable[int],
) -> list[float]:
    """Predicted ratings of ``items``, each within the range."""
    return [_clipped(score, rating_range) for score in _predictions(ratings, side, items)[1]]


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
    items = [item for item in range(side.items) if item not in ratings]
    own, predictions = _predictions(ratings, side, items)
    worth = list(predictions)
    popularity = [side.popularity[item] for item in items] if side.popularity else [0.0] * len(items)
    if side.popularity:
        lowest = rating_range[0] + own
        worth = [often * (score - lowest) for often, score in zip(popularity, predictions, strict=True)]
    worth = [-math.inf if math.isnan(one) else one for one in worth]  # a hostile item side may overflow
    best = heapq.nsmallest(n, range(len(items)), key=lambda at: (-worth[at], -popularity[at], at))
    return [(items[at], _clipped(predictions[at], rating_range)) for at in best]


def _predictions(
    ratings: Mapping[int, float], side: DeviceItemSide, items: Iterable[int]
) -> tuple[float, list[float]]:
    """The person's own offset, and predictions before they are clipped."""
    rated = sorted(ratings)
    if any(not 0 <= item < side.items for item in rated):
        raise QuestionInvalid(f"an item is outside of the catalogue of {side.items}")
    coefficients = fold_in(rated, [float(ratings[item]) for item in rated], side)
    base = side.centre + coefficients[0]
    rank, factors = side.rank, side.factors
    scores = []
    for item in items:
        score = base + (side.offsets[item] if side.offsets else 0.0)
        for d in range(rank):
            score += coefficients[d + 1] * factors[item * rank + d]
        scores.append(score)
    return coefficients[0], scores


def _clipped(score: float, rating_range: tuple[float, float]) -> float:
    return min(max(score, rating_range[0]), rating_range[1])
