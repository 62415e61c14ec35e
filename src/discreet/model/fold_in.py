"""The ways to fold a person in: from their own history and the released arrays to their own coefficients.

Each rule is one frozen object with public numbers. It looks at each user's own rows alone, so it costs no privacy
budget, in training and afterwards, for people inside the training data and outside of it.

    Ridge             ratings: an offset and a vector by ridge regression
    Clicks            what was taken is 1 (or what its rating says), everything else weakly 0
    OwnMean           the user's own mean rating, beside a vector by ridge regression
    NonNegative       a vector without negative entries, for factors that have none (prototypes)
    FrankWolfeReplay  the row that a user would have had in a Frank-Wolfe run

Every rule also says what each rating adds to the coefficients, by the same arithmetic as ``web/static/fold_in.js``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from discreet import kernels
from discreet.kernels.nonnegative import solve_nonnegative
from discreet.types import Array, Floats, Indices

__all__ = [
    "Arrays",
    "Clicks",
    "FoldIn",
    "FrankWolfeReplay",
    "NonNegative",
    "OwnMean",
    "Parts",
    "Ridge",
    "Rows",
    "take_step",
]

_LARGEST_EXPONENT = 50.0  # a million ratings to this power are still a number


class Arrays(NamedTuple):
    """What is released; ``moments``, for `Clicks` alone, are ``V^T V`` and ``V^T b`` over the items of training."""

    centre: float
    offsets: Floats
    factors: Floats
    moments: tuple[Floats, Floats] | None = None


class Rows(NamedTuple):
    """Users' histories as compressed rows: start of each user's entries, items, values."""

    indptr: Indices
    items: Indices
    values: Floats

    def above(self, arrays: Arrays, kind: type[np.floating] = np.float64) -> Any:
        """Values less the centre and the items' offsets."""
        return kernels.above_offsets(self.items, self.values, arrays.offsets, arrays.centre, kind)

    def growth(self, exponent: float) -> Floats:
        """By what each user's penalty grows."""
        return np.maximum(np.diff(self.indptr), 1.0) ** exponent


class Parts(NamedTuple):
    """``base`` (1 + rank) and one row for each rating: together they are the coefficients."""

    base: Floats
    parts: Floats


class _Equations(NamedTuple):
    """``(sum f f^T + gram + diag(ridge)) x = sum t f + rhs``, of each user.

    ``first`` is each user's first coefficient, and ``shares`` what each rating adds to it; ``None``: it is solved for.
    """

    features: Array
    targets: Array
    ridge: Floats
    gram: Floats | None = None
    rhs: Floats | None = None
    first: Floats | float | None = 0.0
    shares: Floats | float = 0.0


class _Rule:
    """What a rule answers."""

    def coefficients(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        """Users x (1 + rank), from each user's own rows alone; ``kind`` is the arithmetic of linear solves."""
        raise NotImplementedError

    def parts(self, arrays: Arrays, rows: Rows) -> Parts:
        """What each rating of the one user there is adds to the coefficients."""
        raise NotImplementedError

    def shown(self, n_items: int) -> Floats:
        """How much of the first coefficient each item is predicted with."""
        return np.zeros(n_items)

    def wrong(self, n_items: int, rank: int) -> str | None:
        """What does not fit the arrays: a penalty below zero or without an end would turn a fit around."""
        numbers = {name: one for name, one in vars(self).items() if isinstance(one, int | float)}
        largest = numbers.get("count_exponent", 0.0)
        if all(0.0 <= one < math.inf for one in numbers.values()) and largest <= _LARGEST_EXPONENT:
            return None
        return "penalties and their exponent must be finite, of a usable size and not below zero"


class _Linear(_Rule):
    """Rules by one ridge solve, whose penalties grow by ``max(count_i, 1) ** count_exponent``."""

    count_exponent: float

    def _equations(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> _Equations:
        """What is solved."""
        raise NotImplementedError

    def coefficients(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        features, targets, ridge, gram, rhs, first, _ = self._equations(arrays, rows, kind)
        growth = rows.growth(self.count_exponent) if self.count_exponent else None
        solved = kernels.solve_rows(rows.indptr, rows.items, targets, features, ridge, growth, gram, rhs)
        whole: Floats = solved.astype(np.float64, copy=False)
        return whole if first is None else _after(first, whole)

    def parts(self, arrays: Arrays, rows: Rows) -> Parts:
        """By the terms of the right side: the solve is linear in the ratings."""
        equations = self._equations(arrays, rows, np.float64)
        found = _split(equations, rows, self.count_exponent)
        return found if equations.first is None else _padded(found, equations.shares)


@dataclass(frozen=True)
class Ridge(_Linear):
    """A rating is ``centre + a_i + b_j + u_i . v_j``; a and u minimise squared residuals plus the penalties."""

    offset_penalty: float = 1.0
    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def _equations(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> _Equations:
        ridge = np.full(1 + arrays.factors.shape[1], self.factor_penalty)
        ridge[0] = self.offset_penalty
        design = np.column_stack([np.ones(len(arrays.offsets)), arrays.factors]).astype(kind)
        return _Equations(design, rows.above(arrays, kind), ridge, first=None)

    def shown(self, n_items: int) -> Floats:
        return np.ones(n_items)


@dataclass(frozen=True)
class Clicks(_Linear):
    """A score is ``b_j + u_i . v_j``; u minimises squared residuals on what was taken, gravity and the penalty.

    The values of the rows are opinions (`RatingScale.opinions`): 1 for a click, below 0 for a bad rating. There is no
    user offset, which would not change any order.

    ``gravity`` is the weight of every item as a zero, as far as it was there in training.
    """

    gravity: float = 0.0
    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def _equations(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> _Equations:
        assert arrays.moments is not None
        squares, product = arrays.moments
        return _Equations(
            arrays.factors.astype(kind),
            rows.above(arrays._replace(centre=0.0), kind),
            np.full(arrays.factors.shape[1], self.factor_penalty),
            self.gravity * squares,
            -self.gravity * product,
        )

    def shown(self, n_items: int) -> Floats:
        return np.ones(n_items)


@dataclass(frozen=True, eq=False)
class OwnMean(_Linear):
    """A rating is ``centre + s_j m_i + b_j + u_i . v_j`` with m the user's own mean less the centre.

    ``share`` is s: whether each item is predicted with the user's own mean, 1, or without, 0.
    """

    share: Floats
    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def _equations(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> _Equations:
        ridge = np.full(arrays.factors.shape[1], self.factor_penalty)
        counts, own = np.diff(rows.indptr), np.zeros(len(rows.indptr) - 1)
        filled = counts > 0
        if filled.any():
            sums = kernels.row_sums(rows.indptr, rows.values)
            own[filled] = sums[filled] / counts[filled] - arrays.centre
        shares = (rows.values - arrays.centre) / np.repeat(counts, counts)
        return _Equations(arrays.factors.astype(kind), rows.above(arrays), ridge, first=own, shares=shares)

    def shown(self, n_items: int) -> Floats:
        return self.share

    def wrong(self, n_items: int, rank: int) -> str | None:
        if self.share.shape != (n_items,):
            return f"the own mean's share has the shape {self.share.shape} and not ({n_items},)"
        if not np.isfinite(self.share).all():
            return "the own mean's share has numbers that are not finite"
        return super().wrong(n_items, rank)


@dataclass(frozen=True)
class NonNegative(_Rule):
    """A rating is ``centre + b_j + u_i . v_j`` with u >= 0; u minimises squared residuals plus the penalty."""

    factor_penalty: float = 1.0
    count_exponent: float = 0.0

    def coefficients(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        penalty = self.factor_penalty * rows.growth(self.count_exponent)
        above = rows.above(arrays)
        return _after(0.0, solve_nonnegative(rows.indptr, rows.items, above, arrays.factors, penalty))

    def parts(self, arrays: Arrays, rows: Rows) -> Parts:
        """Exact on the entries above zero; what the descent stopped short of is in the base."""
        coefficients = self.coefficients(arrays, rows, np.float64)[0]
        kept = np.flatnonzero(coefficients[1:] > 0.0)
        ridge = np.full(len(kept), self.factor_penalty)
        narrow = _Equations(arrays.factors[:, kept], rows.above(arrays), ridge)
        parts = np.zeros((len(rows.items), len(coefficients)))
        parts[:, 1 + kept] = _split(narrow, rows, self.count_exponent).parts
        return Parts(coefficients - parts.sum(axis=0), parts)


@dataclass(frozen=True, eq=False)
class FrankWolfeReplay(_Rule):
    """The row that a user would have had in a Frank-Wolfe run, replayed from its released steps.

    Step t of T moves a row Y (over all items) toward the released direction v_t and keeps it inside two bounds:

        A = clip(P_Omega(Y) - x, L)      Y <- (1 - 1/T) Y - (c / T) (A . v_t / lambda_t) v_t      |P_Omega(Y)| <= L

    with lambda_t the released singular value. A row is kept as its weights on the directions, so nothing has the
    length of the catalogue; training needs the entries on Omega alone. ``eigenvalues`` are lambda_t squared, the items'
    factors the directions; the bounds are c and L.
    """

    eigenvalues: Floats
    nuclear_bound: float
    row_bound: float

    def coefficients(self, arrays: Arrays, rows: Rows, kind: type[np.floating]) -> Floats:
        steps, targets = len(self.eigenvalues), rows.above(arrays)
        weights, fit = np.zeros((len(rows.indptr) - 1, steps)), np.zeros(len(rows.items))
        bounds = self.nuclear_bound, self.row_bound
        for t, eigenvalue in enumerate(self.eigenvalues):
            step = arrays.factors[:, t], eigenvalue, steps
            fit, gain, shrink = take_step(rows.indptr, rows.items, targets, fit, *step, *bounds)
            weights[:, t] = gain
            weights[:, : t + 1] *= shrink[:, None]
            weights[:, :t] *= _pace(eigenvalue, steps, self.nuclear_bound)[1]
        return _after(0.0, weights)

    def parts(self, arrays: Arrays, rows: Rows) -> Parts:
        """Bounds shrink all entries by common factors; given those, every rating's share moves on its own."""
        factors, targets = arrays.factors[rows.items], rows.above(arrays)
        steps, count = len(self.eigenvalues), len(targets)
        own, weights = np.zeros((count, count)), np.zeros((count, steps))  # one row for each rating's share
        wanted = np.diag(targets)
        for t, eigenvalue in enumerate(self.eigenvalues):
            gain, decay = _pace(eigenvalue, steps, self.nuclear_bound)
            clip = _shrinks(rows.indptr, own.sum(axis=0) - targets, self.row_bound)
            added = -gain * clip * ((own - wanted) @ factors[:, t])
            moved = decay * own + added[:, np.newaxis] * factors[:, t]
            shrink = _shrinks(rows.indptr, moved.sum(axis=0), self.row_bound)
            own = shrink * moved
            weights *= shrink * decay
            weights[:, t] = shrink * added
        return _padded(Parts(np.zeros(steps), weights))

    def wrong(self, n_items: int, rank: int) -> str | None:
        if self.eigenvalues.shape != (rank,) or not np.isfinite(self.eigenvalues).all():
            return "a model of Frank-Wolfe steps needs one finite eigenvalue for each factor"
        if not (self.nuclear_bound > 0 and self.row_bound > 0):
            return "a model of Frank-Wolfe steps needs bounds above zero"
        return None


FoldIn: TypeAlias = Ridge | Clicks | OwnMean | FrankWolfeReplay | NonNegative


def take_step(
    indptr: Indices,
    items: Indices,
    targets: Floats,
    fit: Floats,
    direction: Floats,
    eigenvalue: float,
    steps: int,
    nuclear_bound: float,
    row_bound: float,
) -> tuple[Floats, Floats, Floats]:
    """One Frank-Wolfe step of every user: the new fit on Omega, the weight on the new direction, the factor on all.

    ``eigenvalue`` is lambda_t squared, as released; a direction without one (zero or below) is passed over.
    """
    gain, decay = _pace(eigenvalue, steps, nuclear_bound)
    counts, away, along = np.diff(indptr), fit - targets, direction[items]
    clipped = _shrinks(indptr, away, row_bound)
    weights = -gain * clipped * kernels.row_sums(indptr, away * along)
    moved = decay * fit + np.repeat(weights, counts) * along
    shrinks = _shrinks(indptr, moved, row_bound)
    return moved * np.repeat(shrinks, counts), weights, shrinks


def _pace(eigenvalue: float, steps: int, nuclear_bound: float) -> tuple[float, float]:
    """What is gained along a direction, and what is kept of the row."""
    if eigenvalue > 0.0:
        return nuclear_bound / (steps * np.sqrt(eigenvalue)), 1.0 - 1.0 / steps
    return 0.0, 1.0


def _shrinks(indptr: Indices, values: Floats, bound: float) -> Floats:
    """What brings each row inside the bound on its norm; 1 where it is."""
    shrinks: Floats = bound / np.maximum(np.sqrt(kernels.row_sums(indptr, values * values)), bound)
    return shrinks


def _split(equations: _Equations, rows: Rows, exponent: float) -> Parts:
    """The solution of the one user there is, by the terms of the right side."""
    order, ridge = len(equations.ridge), equations.ridge * rows.growth(exponent)[0]
    features = equations.features[rows.items]
    matrix = features.T @ features + np.diag(ridge)
    matrix += 0.0 if equations.gram is None else equations.gram
    first = np.zeros(order) if equations.rhs is None else equations.rhs
    sides = np.vstack([first, equations.targets[:, np.newaxis] * features])
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:  # as the kernel has it: no minimum
        return Parts(np.zeros(order), np.zeros((len(features), order)))
    solved = np.asarray(np.linalg.solve(matrix, sides.T).T, dtype=np.float64)
    return Parts(solved[0], solved[1:])


def _after(first: Floats | float, rest: Floats) -> Floats:
    """With the first coefficient in front."""
    return np.column_stack([np.broadcast_to(first, len(rest)), rest])


def _padded(found: Parts, first: Floats | float = 0.0) -> Parts:
    """With the first coefficient in front: 0, or each rating's share of it."""
    return Parts(np.concatenate([[0.0], found.base]), _after(first, found.parts))
