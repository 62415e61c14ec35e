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
from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.earlier import best_drift, prior_offsets, prior_popularity
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.whitening import Frame, spread_of, whitened
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import estimate, regress_offsets, shrink_to_identity
from discreet.model.item_side import ItemSide
from discreet.model.start import Start
from discreet.privacy.gaussian.energy_scaled import RoundStatistics
from discreet.types import Floats

__all__ = ["AveragedOffsets", "Normalised", "Rules", "State", "first_offsets", "normalised", "refine"]


@dataclass(frozen=True)
class Rules:
    """What stays the same over all rounds: the first release, features of the items, and an earlier model."""

    activity: Activity
    prior: FeaturePrior | None = None
    start: Start | None = None


@dataclass(frozen=True)
class AveragedOffsets:
    """Offsets as released, averaged over the releases by how much each says: a Kalman filter.

    The average is not shrunk. Shrinking comes last and starts from it each time, so the line in log popularity, what
    features explain and how far both are believed are found again from all that is known, and what one release shrank
    away another can bring back.

    Parameters
    ----------
    mean, precision
        The average, and one over the variance of its noise, one per item.
    scatter
        Variance of each item's offset by the scatter of single ratings around the fit. The ratings are the same in
        every release, so it does not average out.
    """

    mean: Floats
    precision: Floats
    scatter: Floats

    def updated(self, offsets: Floats, precision: Floats, scatter: Floats) -> AveragedOffsets:
        """With one more release.

        Earlier releases are believed less where the fit has become better since, by the scatter that it now explains.
        And users' own numbers move from round to round, and offsets with them: by how much is what the two differ by
        beyond their noise, of which a part is taken to last.
        """
        moved = fitted.LASTING * _beyond(offsets - self.mean, 1.0 / self.precision + 1.0 / precision)
        drift = moved + np.maximum(self.scatter - scatter, 0.0)
        before = self.precision / (1.0 + self.precision * drift)
        both = before + precision
        return AveragedOffsets((before * self.mean + precision * offsets) / both, both, scatter)

    def best(self, weight: Floats, rules: Rules) -> Floats:
        """Best estimates, drawn toward features and toward an earlier model's as far as these tell them."""
        variance = 1.0 / self.precision + self.scatter
        best = regress_offsets(self.mean, variance, weight, rules.prior)
        return best if rules.start is None else prior_offsets(self.mean, variance, weight, rules.start, best)


@dataclass(frozen=True)
class State:
    """Where a round left off.

    Parameters
    ----------
    side, frame, popularity
        The item side, coordinates of the next query, and how often each item is taken.
    offsets
        What all releases say about the offsets.
    uncertainty
        Variance of what is left to find about each item, relative to the others'.
    precision
        What all rounds told about each item: one over the variance of their noise.
    warm
        Whether the factors are those of an earlier model, so that what is left to find is what it did not know and
        what has changed since.
    drift
        How far items have moved since an earlier model, where that was found.
    """

    side: ItemSide
    frame: Frame
    popularity: ItemWeights
    offsets: AveragedOffsets
    uncertainty: Floats | None = None
    precision: Floats | None = None
    warm: bool = False
    drift: float | None = None

    @property
    def share(self) -> Floats:
        """Of all takes, one for each item."""
        taken = self.popularity.positive()
        share: Floats = taken / taken.sum()
        return share

    def with_weights(self, statistics: RoundStatistics) -> State:
        """With what one more release tells of popularity."""
        return replace(self, popularity=self.popularity.updated(statistics.weight, statistics.weight_sigma))


@dataclass(frozen=True)
class Normalised:
    """One round's statistics in units that do not depend on how many users there are."""

    moment: Floats
    total: float
    mean_square: float
    usual_square: float
    weight: Floats


def first_offsets(side: ItemSide, frame: Frame, statistics: RoundStatistics, rules: Rules) -> State:
    """Offsets, popularity and residual size from the first release (the feature 1)."""
    popularity = ItemWeights.first(statistics.weight, statistics.weight_sigma)
    if rules.start is not None:
        popularity = prior_popularity(popularity, rules.start)
    weight = popularity.positive()
    total = _total(statistics.moment, frame.unwhiten)
    mean_square = _mean_square(frame, statistics, total)
    scatter = mean_square * (total / rules.activity.ratings) / weight
    precision = np.square(weight / statistics.gradient_sigma)
    offsets = AveragedOffsets(statistics.gradient[:, 0] / weight, precision, scatter)
    side = replace(side, offsets=offsets.best(weight, rules))
    return State(side, replace(frame, residual=float(np.sqrt(mean_square))), popularity, offsets)


def refine(
    state: State, statistics: RoundStatistics, rules: Rules, *, ridge: float, last: bool = False
) -> State:
    """One round: denoise the gradients, step, and choose the next coordinates.

    Parameters
    ----------
    state
        Where the previous round left off; the users' features were stated in its frame.
    statistics
        This round's release.
    ridge
        The users' ridge is this many times the mean squared residual. Large in the first rounds, where a user's
        vector should follow the strongest directions only.
    last
        Whether no round follows.
    """
    after = state.with_weights(statistics)
    # The large products bring their own threads; those of a BLAS would wait for small ones in a busy loop.
    with kernels.one_blas_thread():
        if _below_noise(state.frame, statistics):
            return state
        return _refined(state, after, statistics, rules, ridge, last)


def _refined(
    state: State, after: State, statistics: RoundStatistics, rules: Rules, ridge: float, last: bool
) -> State:
    side, frame, popularity = state.side, state.frame, state.popularity
    now = normalised(frame, statistics, popularity)
    gradient = statistics.gradient
    # Read by five products, and never written to: a device may keep it.
    gradient.setflags(write=False)
    # Scatter of single ratings in an item's sum: their average weight times the item's.
    scatter = now.mean_square * (now.total / rules.activity.ratings) * now.weight
    variance = statistics.gradient_sigma**2 + scatter
    expected, drift = _expected(state, rules, gradient, now.weight, variance)
    found = estimate(
        gradient, now.weight, variance, floor=fitted.LEAST_SIGNAL, expected=expected, prior=rules.prior
    )
    # A curvature taken for smaller than it is overshoots and the rounds diverge: assume what the noise allows.
    doubt = fitted.STEP_CAUTION * statistics.moment_sigma / now.total * np.eye(len(now.moment))
    step = np.linalg.inv(now.moment + doubt).T @ frame.whiten
    factors = kernels.transform_rows(found.vectors, step[:, 1:].T) * (1.0 / now.weight)[:, None]
    if not frame.start:
        factors += side.factors
    spread = spread_of(frame, now.moment, now.usual_square, state.share)
    # Of the item's score for a mean user, in which offsets and factors do not depend on each other. The step of the
    # factors holds noise back and this one does not, so that all releases can be averaged.
    mean, of_factors = spread.mean, factors @ spread.mean
    usual = side.offsets + (0.0 if frame.start else side.factors @ mean)
    point = step[:, 0] + step[:, 1:] @ mean
    usual += kernels.transform_rows(gradient, point[None])[:, 0] / now.weight
    noise = np.square(statistics.gradient_sigma / now.weight) * float(np.square(frame.unwhiten[0]).sum())
    # In other coordinates: offsets are larger by what the factors say of a mean user.
    known = replace(state.offsets, mean=state.offsets.mean + of_factors)
    offsets = known.updated(usual, 1.0 / noise, scatter / np.square(now.weight))
    side = replace(side, offsets=offsets.best(now.weight, rules) - of_factors, factors=factors)
    if side.rank:
        side, frame = whitened(side, frame, spread, rules.activity, ridge, last=last)
    frame = replace(frame, residual=float(np.sqrt(now.mean_square)))
    uncertainty = None if state.frame.start else _relative(found.left, now.weight)
    # Without the floor that keeps divisions safe: of an item that nobody takes a round says nothing.
    ratio, _ = popularity.scaled(statistics.weight)
    told = np.square(ratio * np.maximum(popularity.estimate, 0.0) / statistics.gradient_sigma)
    precision = told if state.precision is None else state.precision + told
    return replace(
        after,
        side=side,
        frame=frame,
        offsets=offsets,
        uncertainty=uncertainty,
        precision=precision,
        drift=drift,
    )


def _expected(
    state: State, rules: Rules, gradient: Floats, weight: Floats, variance: Floats
) -> tuple[Floats | None, float | None]:
    """How much is left to find about each item, relative to the others; and how far items drifted."""
    left = state.uncertainty
    if left is None:
        return None, state.drift
    if state.warm and rules.start is not None:
        drift = best_drift(gradient, weight, variance, left)
        return (left + drift) / (1.0 + drift), drift if state.drift is None else state.drift
    return fitted.REMEMBERED * left + 1.0 - fitted.REMEMBERED, state.drift


def _relative(left: Floats, weight: Floats) -> Floats:
    """What is left to find about each item, 1 on average over what is taken."""
    usual = float((left * weight).sum() / weight.sum())
    return left / usual if usual > 0.0 else np.ones_like(left)


def _below_noise(frame: Frame, statistics: RoundStatistics) -> bool:
    """Whether a round says nothing: its totals do not stand three deviations out, so no step can be sized."""
    weight = float(np.sqrt(np.square(statistics.weight_sigma).sum()))
    moment = statistics.moment_sigma * float(np.square(frame.unwhiten[0]).sum())
    total = _total(statistics.moment, frame.unwhiten)
    return not (statistics.weight.sum() > 3.0 * weight and total > 3.0 * moment)


def normalised(frame: Frame, statistics: RoundStatistics, popularity: ItemWeights) -> Normalised:
    """Mean second moment, total weight, residual size and item weights."""
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

    Users count by one over the size of their residuals, so the mean is that of users who are easy to predict, and a
    ridge in its units is too weak where there is next to no noise. In the ratio of the second to the first moment of
    the sizes that weight cancels.
    """
    first = float(frame.unwhiten[0] @ statistics.moment[:-1, -1])
    second = float(statistics.moment[-1, -1])
    if not (first > 0.0 and second > 0.0):
        return mean_square
    return min(max((frame.residual * second / first) ** 2, mean_square), 4.0 * mean_square)


def _beyond(change: Floats, variance: Floats) -> float:
    """Mean square of ``change`` beyond its known variance, items weighted by how much they tell."""
    square = 0.0
    for _ in range(10):
        trust = 1.0 / np.square(variance + square)
        square = max(float((trust * (change**2 - variance)).sum() / trust.sum()), 0.0)
    return square
