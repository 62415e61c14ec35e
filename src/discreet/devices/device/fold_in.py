"""Folding a device's ratings in: its own offset and vector by ridge regression, and the lists that follow."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

from .item_side import DeviceItemSide
from .question import QuestionInvalid

__all__ = ["fold_in", "recommend", "residuals"]


def fold_in(items: Sequence[int], values: Sequence[float], side: DeviceItemSide) -> list[float]:
    """Offset ``a`` and vector ``u`` that minimise the squared residuals plus the two penalties.

    A rating is modelled as ``centre + a + b_j + u . v_j``. Sums run in the order of the items, one term after the
    other, so that any implementation that does the same agrees to the last bit.
    """
    rank = side.rank
    size = rank + 1
    coefficients = [0.0] * size
    if not items:
        return coefficients
    matrix = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    row = [1.0] * size
    for item, value in zip(items, values, strict=True):
        target = value - side.centre - (side.offsets[item] if side.offsets else 0.0)
        row[1:] = side.factors[item * rank : item * rank + rank]
        for i in range(size):
            right[i] += row[i] * target
            for j in range(i + 1):
                matrix[i][j] += row[i] * row[j]
    matrix[0][0] += side.offset_penalty
    for i in range(1, size):
        matrix[i][i] += side.factor_penalty
    _solve(matrix, right)
    return right


def residuals(
    items: Sequence[int], values: Sequence[float], side: DeviceItemSide, coefficients: Sequence[float]
) -> list[float]:
    """What of each rating the model does not explain."""
    rank = side.rank
    left = []
    for item, value in zip(items, values, strict=True):
        rest = value - side.centre - (side.offsets[item] if side.offsets else 0.0) - coefficients[0]
        for d in range(rank):
            rest -= coefficients[d + 1] * side.factors[item * rank + d]
        left.append(rest)
    return left


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


def _solve(matrix: list[list[float]], right: list[float]) -> None:
    """Solve a positive definite system in place by Cholesky without square roots; only the lower triangle is read.

    Without roots, a device whose ratings are all the same has residuals of exactly zero.
    """
    size = len(right)
    for i in range(size):
        for j in range(i):
            for k in range(j):
                matrix[i][j] -= matrix[i][k] * matrix[j][k] * matrix[k][k]
            matrix[i][j] /= matrix[j][j]
        for k in range(i):
            matrix[i][i] -= matrix[i][k] * matrix[i][k] * matrix[k][k]
    for i in range(size):
        for k in range(i):
            right[i] -= matrix[i][k] * right[k]
    for i in range(size - 1, -1, -1):
        right[i] /= matrix[i][i]
        for k in range(i + 1, size):
            right[i] -= matrix[k][i] * right[k]
