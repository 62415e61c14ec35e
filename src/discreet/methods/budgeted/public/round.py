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
from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.budgeted.public.gauge import Directions, regauge, spread_of, taste_of
from discreet.methods.budgeted.public.offsets import OffsetFilter
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.start import best_drift, prior_offsets, prior_popularity
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import Estimate, estimate, shrink_to_identity
from discreet.model.item_side import ItemSide
from discreet.model.start import Start
from discreet.privacy.gaussian.energy_scaled import RoundStatistics
from discreet.types import Floats

__all__ = [
    "Normalised",
    "Rules",
    "State",
    "first_offsets",
    "normalised",
    "refine",
    "refine_offsets",
]

# Share of the mean signal that every direction is taken to have, so that none dies before it was seen.
_FLOOR = 0.1
# How far an item's doubt after the last round says how much this round will find; the rest is the same for all.
_REMEMBERED = 0.7


@dataclass(frozen=True)
class Rules:
    """What stays the same over all rounds.

    Parameters
    ----------
    activity
        From the first release.
    prior
        Public features of the items.
    start
        What an earlier model says about the items.
    """

    activity: Activity
    prior: FeaturePrior | None = None
    start: Start | None = None


@dataclass(frozen=True)
class State:
    """Where a round left off.

    Parameters
    ----------
    side, frame, popularity
        The item side, coordinates of the next query, and how often each item is taken.
    doubt
        Variance of what is left to find about each item, relative to the others'.
    offsets
        What all releases say about the offsets.
    known
        What all rounds told about each item: one over the variance of their noise.
    warm
        Whether the factors are those of an earlier model, so that what is left to find is what it did not know and
        what has changed since.
    told
        What the last round told about each item, of what is known.
    taste
        Power of each direction as far as it is taste.
    """

    side: ItemSide
    frame: Frame
    popularity: ItemWeights
    offsets: OffsetFilter
    doubt: Floats | None = None
    known: Floats | None = None
    warm: bool = False
    told: Floats | None = None
    taste: Floats | None = None


def first_offsets(side: ItemSide, frame: Frame, statistics: RoundStatistics, rules: Rules) -> State:
    """Offsets, popularity and residual size from the first release (the feature 1)."""
    popularity = ItemWeights.first(statistics.weight, statistics.weight_sigma)
    if rules.start is not None:
        popularity = prior_popularity(popularity, rules.start)
    weight = popularity.positive()
    total = _total(statistics.moment, np.eye(1))
    mean_square = _mean_square(frame, statistics, total)
    scatter = mean_square * (total / rules.activity.ratings) / weight
    known = np.square(weight / statistics.gradient_sigma)
    heard = OffsetFilter(statistics.gradient[:, 0] / weight, known, scatter)
    side = replace(side, offsets=_best_offsets(heard, weight, rules))
    return State(side, replace(frame, residual=float(np.sqrt(mean_square))), popularity, heard)


def _best_offsets(heard: OffsetFilter, weight: Floats, rules: Rules) -> Floats:
    """Offsets from all releases, drawn toward features and toward an earlier model's as far as these tell them."""
    cold = heard.best(weight, rules.prior)
    if rules.start is None:
        return cold
    return prior_offsets(heard.mean, 1.0 / heard.known + heard.scatter, weight, rules.start, cold)


@dataclass(frozen=True)
class Normalised:
    """One round's statistics, normalised: mean second moment, total weight, residual size, item weights."""

    moment: Floats
    total: float
    mean_square: float
    usual_square: float
    weight: Floats


def refine(
    state: State, statistics: RoundStatistics, rules: Rules, *, caution: float, last: bool = False
) -> State:
    """One round: denoise the gradients, step, and choose the next coordinates.

    Parameters
    ----------
    state
        Where the previous round left off; the users' features were stated in its frame.
    statistics
        This round's release.
    caution
        The users' ridge is this many times the mean squared residual. Large in the first rounds, where a user's
        vector should follow the strongest directions only.
    last
        Whether no round follows.
    """
    updated = state.popularity.updated(statistics.weight, statistics.weight_sigma)
    # The large products bring their own threads; those of a BLAS would wait for small ones in a busy loop.
    with kernels.one_blas_thread():
        if _drowned(state.frame, statistics):
            return state
        return _refined(state, statistics, rules, updated, caution, last)


def _refined(
    state: State, statistics: RoundStatistics, rules: Rules, updated: ItemWeights, caution: float, last: bool
) -> State:
    side, frame, popularity = state.side, state.frame, state.popularity
    now = normalised(frame, statistics, popularity)
    gradient = statistics.gradient
    # Read by five products, and never written to: a device may keep it.
    gradient.setflags(write=False)
    # Scatter of single ratings in an item's sum: their average weight times the item's.
    scatter = now.mean_square * (now.total / rules.activity.ratings) * now.weight
    variance = statistics.gradient_sigma**2 + scatter
    expected, earlier = None, state.known
    if state.doubt is not None:
        expected = _REMEMBERED * state.doubt + 1.0 - _REMEMBERED
    if state.warm and state.doubt is not None and rules.start is not None:
        drift = best_drift(gradient, now.weight, variance, state.doubt)
        expected = (state.doubt + drift) / (1.0 + drift)
        earlier = rules.start.information(drift) if state.known is None else state.known
    found = estimate(gradient, now.weight, variance, floor=_FLOOR, expected=expected, prior=rules.prior)
    step = _Step.of(frame, now, statistics, variance)
    solved = step.solved(found.vectors)
    factors = step.factors(solved, None if frame.start else side.factors)
    share = popularity.positive()
    spread = spread_of(frame, now.moment, now.usual_square, share / share.sum())
    # Of the item's score for a mean user, in which offsets and factors do not depend on each other. The step of the
    # factors holds noise back and this one does not, so that all releases can be averaged.
    mean, known = spread.mean, factors @ spread.mean
    usual = side.offsets + (0.0 if frame.start else side.factors @ mean)
    usual += step.offsets(step.solved(gradient), mean)
    noise = np.square(statistics.gradient_sigma / now.weight) * float(np.square(frame.unwhiten[0]).sum())
    heard = state.offsets.moved(known).heard(usual, 1.0 / noise, scatter / np.square(now.weight))
    offsets = _best_offsets(heard, now.weight, rules) - known
    side = replace(side, offsets=offsets, factors=factors)
    taste = None
    if side.rank:
        directions = Directions.of(side, spread, rules.activity)
        taste = None if frame.start else taste_of(directions, spread)
        side, frame, _ = regauge(side, frame, spread, rules.activity, directions, caution, last=last)
    frame = replace(frame, residual=float(np.sqrt(now.mean_square)))
    doubt = None if state.frame.start else _relative(found, now.weight)
    # Without the floor that keeps divisions safe: of an item that nobody takes a round says nothing.
    ratio, _ = popularity.scaled(statistics.weight)
    told = np.square(ratio * np.maximum(popularity.estimate, 0.0) / statistics.gradient_sigma)
    known = told if earlier is None else earlier + told
    return State(side, frame, updated, heard, doubt, known, state.warm, told, taste)


def refine_offsets(state: State, statistics: RoundStatistics, rules: Rules) -> State:
    """Offsets from a release of the constant feature alone, beside factors that stay as they are."""
    side, popularity = state.side, state.popularity
    updated = popularity.updated(statistics.weight, statistics.weight_sigma)
    frame = replace(Frame.first(state.frame.residual), power=state.frame.power)
    if _drowned(frame, statistics):
        return state
    now = normalised(frame, statistics, popularity)
    scatter = now.mean_square * now.total / rules.activity.ratings / now.weight
    moved = statistics.gradient[:, 0] / now.weight
    known = np.square(now.weight / statistics.gradient_sigma)
    heard = state.offsets.heard(side.offsets + moved, known, scatter)
    side = replace(side, offsets=_best_offsets(heard, updated.positive(), rules))
    return replace(state, side=side, offsets=heard, popularity=updated)


def _relative(found: Estimate, weight: Floats) -> Floats:
    """What is left to find about each item, 1 on average over what is taken."""
    usual = float((found.left * weight).sum() / weight.sum())
    return found.left / usual if usual > 0.0 else np.ones_like(found.left)


def _drowned(frame: Frame, statistics: RoundStatistics) -> bool:
    """Whether a round says nothing: its totals do not stand three deviations out, so no step can be sized."""
    weight = float(np.sqrt(np.square(statistics.weight_sigma).sum()))
    moment = statistics.moment_sigma * float(np.square(frame.unwhiten[0]).sum())
    total = _total(statistics.moment, frame.unwhiten)
    return not (statistics.weight.sum() > 3.0 * weight and total > 3.0 * moment)


def normalised(frame: Frame, statistics: RoundStatistics, popularity: ItemWeights) -> Normalised:
    """A round's statistics in units that do not depend on how many users there are."""
    order = len(frame.whiten)
    total = _total(statistics.moment, frame.unwhiten)
    moment = shrink_to_identity(statistics.moment[:order, :order] / total, statistics.moment_sigma / total)
    _, weight = popularity.scaled(statistics.weight)
    mean_square = _mean_square(frame, statistics, total)
    return Normalised(moment, total, mean_square, _usual_square(frame, statistics, mean_square), weight)


def _total(moment: Floats, unwhiten: Floats) -> float:
    """Total user weight: the moment's entry for the constant feature."""
    order = len(unwhiten)
    return max(float(unwhiten[0] @ moment[:order, :order] @ unwhiten[0]), 1e-9)


def _mean_square(frame: Frame, statistics: RoundStatistics, total: float) -> float:
    """Mean squared residual: users state it relative to the previous round's, which it should not exceed by much."""
    relative = float(statistics.moment[-1, -1]) / total
    return frame.residual**2 * min(max(relative, 0.01), 2.0)


def _usual_square(frame: Frame, statistics: RoundStatistics, mean_square: float) -> float:
    """Squared residual of a usual user.

    Users count by one over the size of their residuals, so the mean above is that of users who are easy to predict.
    In the ratio of the second to the first moment of the sizes that weight cancels.
    """
    first = float(frame.unwhiten[0] @ statistics.moment[:-1, -1])
    second = float(statistics.moment[-1, -1])
    if not (first > 0.0 and second > 0.0):
        return mean_square
    return min(max((frame.residual * second / first) ** 2, mean_square), 4.0 * mean_square)


@dataclass(frozen=True)
class _Step:
    """From gradients to the step, in the item side's coordinates.

    Parameters
    ----------
    matrix
        What gradients over ``size`` are multiplied by, where the curvature is shared; else what solutions are.
    size
        Weight of each item.
    curvature, ridge
        Of each item, where one was released.
    """

    matrix: Floats
    size: Floats
    curvature: Floats | None = None
    ridge: Floats | None = None

    @classmethod
    def of(cls, frame: Frame, now: Normalised, statistics: RoundStatistics, variance: Floats) -> _Step:
        if statistics.curvature is None:
            # A curvature taken for smaller than it is overshoots and the rounds diverge: assume what the noise allows.
            doubt = 2.0 * statistics.moment_sigma / now.total * np.eye(len(now.moment))
            return cls(np.linalg.inv(now.moment + doubt).T @ frame.whiten, now.weight)
        ridge = np.sqrt(variance) + 1e-6 * now.weight
        ridges = np.repeat(ridge[:, None], len(frame.whiten), axis=1)
        return cls(frame.whiten, np.ones_like(ridge), statistics.curvature, ridges)

    def solved(self, gradient: Floats) -> Floats:
        """Gradients over the curvature, where each item has its own."""
        if self.curvature is None or self.ridge is None:
            return gradient
        return kernels.solve_items(self.curvature, gradient, self.ridge)

    def factors(self, solved: Floats, before: Floats | None) -> Floats:
        """Factors after the step; ``None`` before it for those that it replaces."""
        step = kernels.transform_rows(solved, self.matrix[:, 1:].T) * (1.0 / self.size)[:, None]
        return step if before is None else before + step

    def offsets(self, solved: Floats, at: Floats | None = None) -> Floats:
        """How far the offsets move; or the scores of a user whose vector is ``at``."""
        point = self.matrix[:, 0] if at is None else self.matrix[:, 0] + self.matrix[:, 1:] @ at
        moved: Floats = kernels.transform_rows(solved, point[None])[:, 0] / self.size
        return moved
