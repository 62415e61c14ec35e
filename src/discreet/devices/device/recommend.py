"""Recommendations on the device: from its own ratings and the released item side, at no cost."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

from .own import own_coefficients
from .question import QuestionInvalid
from .released import Released

__all__ = ["predict", "recommend"]


def predict(
    ratings: Mapping[int, float], released: Released, rating_range: tuple[float, float], items: Iterable[int]
) -> list[float]:
    """Predicted ratings of ``items``, each within the range."""
    return [_clipped(score, rating_range) for score in _scores(ratings, released, items)]


def recommend(
    ratings: Mapping[int, float],
    released: Released,
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
    items = [item for item in range(released.items) if not (exclude_seen and item in ratings)]
    pairs = zip(items, _scores(ratings, released, items), strict=True)
    best = heapq.nsmallest(n, pairs, key=lambda pair: (-pair[1], pair[0]))
    return [(item, _clipped(score, rating_range)) for item, score in best]


def _scores(ratings: Mapping[int, float], released: Released, items: Iterable[int]) -> list[float]:
    own = sorted(ratings)
    if any(not 0 <= item < released.items for item in own):
        raise QuestionInvalid(f"an item is outside of the catalogue of {released.items}")
    coefficients = own_coefficients(own, [float(ratings[item]) for item in own], released)
    base = released.centre + coefficients[0]
    rank, factors = released.rank, released.factors
    scores = []
    for item in items:
        score = base + (released.offsets[item] if released.offsets else 0.0)
        for d in range(rank):
            score += coefficients[d + 1] * factors[item * rank + d]
        scores.append(score)
    return scores


def _clipped(score: float, rating_range: tuple[float, float]) -> float:
    return min(max(score, rating_range[0]), rating_range[1])
