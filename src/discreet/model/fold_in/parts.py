"""What each rating of a history adds to a person's coefficients: the rules taken apart, as the page does it too.

Coefficients are ``base`` and all ``parts`` together. For ridge regression and clicks they are linear in the ratings, so
the parts are exact; a vector without negative entries is linear on its entries above zero, and a Frank-Wolfe row is
once its bounds are taken as given (``web/static/fold_in.js`` has the same arithmetic).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.fold_in.clicks import Clicks
from discreet.model.fold_in.frank_wolfe import FrankWolfeReplay
from discreet.model.fold_in.histories import Arrays, Rows
from discreet.model.fold_in.non_negative import NonNegative
from discreet.model.fold_in.own_mean import OwnMean
from discreet.model.fold_in.ridge import Ridge
from discreet.types import Floats

__all__ = ["Parts", "coefficient_parts"]


class Parts(NamedTuple):
    """``base`` (1 + rank) and one row for each rating: together they are the coefficients."""

    base: Floats
    parts: Floats


def coefficient_parts(
    rule: Ridge | Clicks | OwnMean | FrankWolfeReplay | NonNegative, side: Arrays, rows: Rows
) -> Parts:
    """The coefficients of one person, rating by rating; ``rows`` has that person alone."""
    factors = side.factors[rows.items]
    growth = max(len(rows.items), 1.0) ** getattr(rule, "count_exponent", 0.0)
    match rule:
        case Ridge():
            ridge = np.full(1 + factors.shape[1], rule.factor_penalty * growth)
            ridge[0] = rule.offset_penalty * growth
            return _solved(np.column_stack([np.ones(len(factors)), factors]), rows.above(side), ridge)
        case Clicks():
            squares, product = side.moments
            ridge = np.full(factors.shape[1], rule.factor_penalty * growth)
            pull = (rule.gravity * squares, -rule.gravity * product)
            return _padded(_solved(factors, rows.values - side.offsets[rows.items], ridge, *pull))
        case OwnMean():
            ridge = np.full(factors.shape[1], rule.factor_penalty * growth)
            shares = (rows.values - side.centre) / max(len(rows.values), 1)
            return _padded(_solved(factors, rows.above(side), ridge), shares)
        case NonNegative():
            return _non_negative(rule, side, rows, rule.factor_penalty * growth)
        case FrankWolfeReplay():
            return _frank_wolfe(rule, factors, rows.above(side))


def _solved(
    features: Floats, targets: Floats, ridge: Floats, gram: Floats | None = None, rhs: Floats | None = None
) -> Parts:
    """``(sum f f^T + gram + diag(ridge)) x = sum t f + rhs``, by the terms of the right side."""
    order = len(ridge)
    matrix = features.T @ features + np.diag(ridge)
    matrix += 0.0 if gram is None else gram
    sides = np.vstack([np.zeros(order) if rhs is None else rhs, targets[:, np.newaxis] * features])
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return Parts(np.zeros(order), np.zeros((len(targets), order)))  # as the solver has it: no minimum
    solved = np.asarray(np.linalg.solve(matrix, sides.T).T, dtype=np.float64)
    return Parts(solved[0], solved[1:])


def _padded(found: Parts, first: Floats | None = None) -> Parts:
    """With the first coefficient in front: 0, or each rating's share of it."""
    ahead = np.zeros(len(found.parts)) if first is None else first
    return Parts(np.concatenate([[0.0], found.base]), np.column_stack([ahead, found.parts]))


def _non_negative(rule: NonNegative, side: Arrays, rows: Rows, penalty: float) -> Parts:
    """Exact on the entries above zero; what the descent stopped short of is in the base."""
    coefficients = rule.coefficients(side, rows, np.float64)[0]
    kept = np.flatnonzero(coefficients[1:] > 0.0)
    narrow = _solved(side.factors[rows.items][:, kept], rows.above(side), np.full(len(kept), penalty))
    parts = np.zeros((len(rows.items), len(coefficients)))
    parts[:, 1 + kept] = narrow.parts
    return Parts(coefficients - parts.sum(axis=0), parts)


def _frank_wolfe(rule: FrankWolfeReplay, factors: Floats, targets: Floats) -> Parts:
    """Bounds shrink all entries by common factors; given those, every rating's share of the row moves on its own."""
    steps = len(rule.eigenvalues)
    count = len(targets)
    own, weights = np.zeros((count, count)), np.zeros((count, steps))  # one row for each rating's share
    wanted = np.diag(targets)
    for t, eigenvalue in enumerate(rule.eigenvalues):
        moves = eigenvalue > 0.0
        gain = rule.nuclear_bound / (steps * np.sqrt(eigenvalue)) if moves else 0.0
        decay = 1.0 - 1.0 / steps if moves else 1.0
        clip = _factor(own.sum(axis=0) - targets, rule.row_bound)
        added = -gain * clip * ((own - wanted) @ factors[:, t])
        moved = decay * own + added[:, np.newaxis] * factors[:, t]
        shrink = _factor(moved.sum(axis=0), rule.row_bound)
        own = shrink * moved
        weights *= shrink * decay
        weights[:, t] = shrink * added
    return _padded(Parts(np.zeros(steps), weights))


def _factor(row: Floats, bound: float) -> float:
    return min(1.0, bound / max(float(np.linalg.norm(row)), 1e-300))
