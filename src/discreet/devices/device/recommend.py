"""Recommendations on the device: from its own ratings and the released item side, at no cost."""

from __future__ import annotations

import heapq
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
    return [_clipped(score, rating_range) for score in _scores(ratings, side, items)]


def recommend(
    ratings: Mapping[int, float],
    side: DeviceItemSide,
    rating_range: tuple[float, float],
    n: int = 10,
    *,
    exclude_seen: bool = True,
) -> list[tuple[int, float]]:
    """The ``n`` best items, best first, and their predictions; ties go to the lower index.

    The order follows the prediction before it is clipped, so that items above the range are still told apart.

    Notes
    -----
    **Privacy**. Nothing leaves the device: this costs no budget.
    """
    items = [item for item in range(side.items) if not (exclude_seen and item in ratings)]
    pairs = zip(items, _scores(ratings, side, items), strict=True)
    best = heapq.nsmallest(n, pairs, key=lambda pair: (-pair[1], pair[0]))
    return [(item, _clipped(score, rating_range)) for item, score in best]


def _scores(ratings: Mapping[int, float], side: DeviceItemSide, items: Iterable[int]) -> list[float]:
    own = sorted(ratings)
    if any(not 0 <= item < side.items for item in own):
        raise QuestionInvalid(f"an item is outside of the catalogue of {side.items}")
    coefficients = fold_in(own, [float(ratings[item]) for item in own], side)
    base = side.centre + coefficients[0]
    rank, factors = side.rank, side.factors
    scores = []
    for item in items:
        score = base + (side.offsets[item] if side.offsets else 0.0)
        for d in range(rank):
            score += coefficients[d + 1] * factors[item * rank + d]
        scores.append(score)
    return scores


def _clipped(score: float, rating_range: tuple[float, float]) -> float:
    return min(max(score, rating_range[0]), rating_range[1])
