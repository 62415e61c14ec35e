"""Folding a device's ratings in: its own offset and vector by ridge regression on the released item side."""

from __future__ import annotations

from collections.abc import Sequence

from .item_side import DeviceItemSide

__all__ = ["fold_in", "residuals"]


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
