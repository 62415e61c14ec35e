"""One step of the item side from one round's noisy sums. Public: sees releases only.

The rounds release gradients, not full normal equations: the sum over an item's users of residual times feature.
As the fit improves residuals shrink, users need less of the budget for the same accuracy, and what earlier rounds
found is kept rather than estimated again. The curvature only sets the length of the step, so a shared one (the
users' second moment times the item's weight) is enough: its error slows convergence and biases nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet import kernels
from discreet.methods.budgeted.public.chance import beyond_chance, chance_covariance
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import denoise, regress_offsets, shrink_to_identity
from discreet.model.fold_in import Clicks, FoldIn, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.energy_scaled import RoundStatistics
from discreet.types import Floats

__all__ = ["Frame", "first_offsets", "first_popularity", "refine"]


# Share of the mean signal that every direction is taken to have, so that none dies before it was seen.
_FLOOR = 0.1


@dataclass(frozen=True)
class Frame:
    """Public coordinates in which users state their features: ``phi = whiten @ (1, u)``.

    Parameters
    ----------
    whiten
        (1 + rank) square. The noise is the same in all directions of phi, so features should be about as
        large in all of them; the frame is taken from the previous round's released moment.
    residual
        Root mean square residual seen in the previous round (public estimate).
    ratings_per_user
        Public estimate of the mean.
    start
        Whether the factors are still a random start: then a step replaces them instead of adding to them.
    """

    whiten: Floats
    residual: float
    ratings_per_user: float
    start: bool = False


def first_offsets(
    side: ItemSide, frame: Frame, statistics: RoundStatistics, ratings: float
) -> tuple[ItemSide, ItemWeights, float]:
    """Offsets, popularity and residual size from the first release of explicit feedback (the feature 1)."""
    popularity = ItemWeights.first(statistics.weight, statistics.weight_sigma)
    weight = popularity.positive()
    total = _total(statistics.moment, np.eye(1))
    mean_square = _mean_square(frame, statistics, total)
    sampling = mean_square * (total / ratings) / weight
    variance = (statistics.gradient_sigma / weight) ** 2 + sampling
    offsets = regress_offsets(statistics.gradient[:, 0] / weight, variance, weight)
    return replace(side, offsets=offsets), popularity, float(np.sqrt(mean_square))


def first_popularity(side: ItemSide, statistics: RoundStatistics) -> tuple[ItemSide, ItemWeights]:
    """Scores and popularity from the first release of implicit feedback: the share of users who took an item."""
    popularity = ItemWeights.first(statistics.weight, statistics.weight_sigma)
    users = _total(statistics.moment, np.eye(1))
    weight = popularity.positive()
    return replace(side, offsets=weight / (weight + side.clicks.gravity * users)), popularity


@dataclass(frozen=True)
class _Round:
    """One round's statistics, normalised: mean second moment, total weight, residual size, item weights."""

    moment: Floats
    total: float
    mean_square: float
    weight: Floats


def refine(
    side: ItemSide,
    frame: Frame,
    statistics: RoundStatistics,
    popularity: ItemWeights,
    *,
    ratings: float,
    caution: float,
) -> tuple[ItemSide, Frame, ItemWeights]:
    """One round: denoise the gradients, step, and choose the next coordinates.

    Parameters
    ----------
    side, frame, popularity
        Where the previous round left off; the users' features were stated in ``frame``.
    statistics
        This round's release.
    ratings
        Public estimate of the number of ratings.
    caution
        The users' ridge is this many times the mean squared residual (explicit feedback). Large in the first
        rounds, where a user's vector should follow the strongest directions only.
    """
    if _drowned(frame, statistics):
        return side, frame, popularity
    now = _normalised(frame, statistics, popularity)
    gradient = statistics.gradient
    if isinstance(side.rule, Clicks):
        gradient = gradient - _pull(side, frame, now)
    variance = statistics.gradient_sigma**2 + now.mean_square * _mean_weight(side, now, ratings) * now.weight
    step = (
        _step(side, now, statistics, denoise(gradient, now.weight, variance, _FLOOR), variance) @ frame.whiten
    )
    factors = step[:, 1:] if frame.start else side.factors + step[:, 1:]
    moved = replace(side, offsets=side.offsets + step[:, 0], factors=factors)
    chance = None
    if isinstance(side.rule, Clicks) and not frame.start:
        chance = chance_covariance(side, now.weight / now.total)
    moved, frame = _regauge(moved, frame, now, popularity, caution, chance)
    return moved, frame, popularity.updated(statistics.weight, statistics.weight_sigma)


def _drowned(frame: Frame, statistics: RoundStatistics) -> bool:
    """Whether a round says nothing: its totals do not stand three deviations out, so no step can be sized."""
    weight = float(np.sqrt(np.square(statistics.weight_sigma).sum()))
    moment = statistics.moment_sigma * float(np.square(np.linalg.inv(frame.whiten)[0]).sum())
    total = _total(statistics.moment, frame.whiten)
    return not (statistics.weight.sum() > 3.0 * weight and total > 3.0 * moment)


def _normalised(frame: Frame, statistics: RoundStatistics, popularity: ItemWeights) -> _Round:
    order = len(frame.whiten)
    total = _total(statistics.moment, frame.whiten)
    moment = shrink_to_identity(statistics.moment[:order, :order] / total, statistics.moment_sigma / total)
    _, weight = popularity.scaled(statistics.weight)
    return _Round(moment, total, _mean_square(frame, statistics, total), weight)


def _total(moment: Floats, whiten: Floats) -> float:
    """Total user weight: the moment's entry for the constant feature."""
    order = len(whiten)
    unwhiten = np.linalg.inv(whiten)
    return max(float(unwhiten[0] @ moment[:order, :order] @ unwhiten[0]), 1e-9)


def _mean_square(frame: Frame, statistics: RoundStatistics, total: float) -> float:
    """Mean squared residual: users state it relative to the previous round's, which it should not exceed by much."""
    relative = float(statistics.moment[-1, -1]) / total
    return frame.residual**2 * min(max(relative, 0.01), 2.0)


def _mean_weight(side: ItemSide, now: _Round, ratings: float) -> float:
    """Average weight of a rating, for the sampling variance of an item's sum."""
    if isinstance(side.rule, Clicks):
        return float(now.weight.sum()) / ratings
    return now.total / ratings


def _pull(side: ItemSide, frame: Frame, now: _Round) -> Floats:
    """Gradient of the gravity term: all users, seen item or not, pull the score toward zero."""
    factors = np.zeros_like(side.factors) if frame.start else side.factors
    scores = np.column_stack([side.offsets, factors]) @ np.linalg.inv(frame.whiten)
    pull: Floats = side.clicks.gravity * now.total * scores @ now.moment
    return pull


def _step(
    side: ItemSide, now: _Round, statistics: RoundStatistics, gradient: Floats, variance: Floats
) -> Floats:
    gravity = side.clicks.gravity * now.total if isinstance(side.rule, Clicks) else 0.0
    if statistics.curvature is None:
        # A curvature taken for smaller than it is overshoots and the rounds diverge: assume what the noise allows.
        doubt = 2.0 * statistics.moment_sigma / now.total * np.eye(len(now.moment))
        return np.linalg.solve(now.moment + doubt, gradient.T).T / (now.weight + gravity)[:, None]
    curvature = statistics.curvature + gravity * now.moment
    ridge = np.repeat((np.sqrt(variance) + 1e-6 * now.weight)[:, None], gradient.shape[1], axis=1)
    return kernels.solve_items(curvature, gradient, ridge)


def _regauge(
    side: ItemSide,
    frame: Frame,
    now: _Round,
    popularity: ItemWeights,
    caution: float,
    chance: Floats | None = None,
) -> tuple[ItemSide, Frame]:
    """Turn and stretch the factors so that users' vectors are about uncorrelated and as large as the ridge expects.

    The model does not change (``V M`` with ``M^-1 u``); only what the next round's features look like does, and how
    strongly the users' ridge holds each direction. For clicks ``chance`` is taken off the covariance first.
    """
    unwhiten = np.linalg.inv(frame.whiten)
    moment = unwhiten @ now.moment @ unwhiten.T
    moment /= moment[0, 0]
    covariance = moment[1:, 1:] - np.outer(moment[0, 1:], moment[0, 1:])
    values, basis = np.linalg.eigh(covariance)
    root = basis * np.sqrt(np.maximum(values, 1e-9 * max(float(values.max()), 1e-12)))
    if chance is not None:
        root = beyond_chance(root, chance)
    factors = side.factors @ root
    share = popularity.positive()
    power, turn = np.linalg.eigh((factors * (share / share.sum())[:, None]).T @ factors)
    change = root @ turn
    rule: FoldIn = side.rule
    if isinstance(rule, Ridge):
        # A ridge estimate of a unit vector is shorter than 1 by its reliability: expect that length, not 1.
        penalty = caution * max(now.mean_square, 1e-6)
        seen = frame.ratings_per_user * np.maximum(power, 0.0)
        change = change / np.sqrt(np.maximum(seen / (seen + penalty), 0.1))
        rule = replace(rule, factor_penalty=penalty)
    transform = np.eye(1 + side.rank)
    transform[1:, 1:] = np.linalg.inv(change)
    whiten = _inverse_root(transform @ moment @ transform.T)
    residual = float(np.sqrt(now.mean_square))
    return replace(side, factors=side.factors @ change, rule=rule), Frame(
        whiten, residual, frame.ratings_per_user
    )


def _inverse_root(moment: Floats) -> Floats:
    """``moment ** -1/2``, with directions that hardly occur treated as if they occurred a little."""
    values, basis = np.linalg.eigh(moment)
    root: Floats = (basis / np.sqrt(np.maximum(values, 1e-3 * float(values.max())))) @ basis.T
    return root
