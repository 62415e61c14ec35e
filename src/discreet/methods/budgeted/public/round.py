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
from discreet.methods.budgeted.public.gauge import (
    Directions,
    regauge_clicks,
    regauge_ratings,
    spread_of,
    taste_of,
)
from discreet.methods.budgeted.public.gravity import first_gravity, gravity_noise, settled_gravity
from discreet.methods.budgeted.public.leaning import CLICK_PENALTY
from discreet.methods.budgeted.public.offsets import OffsetFilter
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.start import best_drift, prior_offsets, prior_popularity
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import Estimate, estimate, shrink_to_identity
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.model.start import Start
from discreet.privacy.gaussian.energy_scaled import RoundStatistics
from discreet.types import Floats

__all__ = [
    "Normalised",
    "Rules",
    "State",
    "first_offsets",
    "first_popularity",
    "normalised",
    "refine",
    "refine_offsets",
    "with_gravity",
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
    free_gravity
        Whether gravity follows the released scores.
    hard
        Difficulty of the run, known after the first release.
    start
        What an earlier model says about the items.
    penalty
        Users' ridge for clicks, where it is set; else it follows the gravity.
    """

    activity: Activity
    prior: FeaturePrior | None = None
    free_gravity: bool = True
    hard: float = 0.0
    start: Start | None = None
    penalty: float | None = None


@dataclass(frozen=True)
class State:
    """Where a round left off.

    Parameters
    ----------
    side, frame, popularity
        The item side, coordinates of the next question, and how often each item is taken.
    doubt
        Variance of what is left to find about each item, relative to the others'.
    offsets
        What all releases say about the offsets (explicit feedback).
    known
        What all rounds told about each item: one over the variance of their noise.
    reach
        What gravity leaves of each item's numbers; 1 for ratings.
    rough
        Noise of the last round's moment of users, relative to what it is.
    swing
        Noise of the gravity, relative to what it is; 0 where it follows no release.
    warm
        Whether the factors are those of an earlier model, so that what is left to find is what it did not know and
        what has changed since.
    told
        What the last round told about each item, of what is known.
    taste
        Power of each direction as far as it is taste (explicit feedback).
    fell
        Squared residual that the last round stated, relative to that of the round before; at most 1.
    """

    side: ItemSide
    frame: Frame
    popularity: ItemWeights
    doubt: Floats | None = None
    offsets: OffsetFilter | None = None
    known: Floats | None = None
    reach: Floats | None = None
    rough: float = 0.0
    swing: float = 0.0
    warm: bool = False
    told: Floats | None = None
    taste: Floats | None = None
    fell: float = 1.0


def first_offsets(side: ItemSide, frame: Frame, statistics: RoundStatistics, rules: Rules) -> State:
    """Offsets, popularity and residual size from the first release of explicit feedback (the feature 1)."""
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
    return State(side, replace(frame, residual=float(np.sqrt(mean_square))), popularity, offsets=heard)


def _best_offsets(heard: OffsetFilter, weight: Floats, rules: Rules) -> Floats:
    """Offsets from all releases, drawn toward features and toward an earlier model's as far as these tell them."""
    cold = heard.best(weight, rules.prior)
    if rules.start is None:
        return cold
    return prior_offsets(heard.mean, 1.0 / heard.known + heard.scatter, weight, rules.start, cold)


def first_popularity(
    side: ItemSide,
    frame: Frame,
    statistics: RoundStatistics,
    rules: Rules,
    known: ItemWeights | None = None,
) -> State:
    """Scores and popularity from the first release of implicit feedback: the share of users who took an item.

    ``known`` is what an earlier release of the same question said.
    """
    popularity = ItemWeights.first(statistics.weight, statistics.weight_sigma)
    if known is not None:
        popularity = known.updated(statistics.weight, statistics.weight_sigma)
    elif rules.start is not None:
        popularity = prior_popularity(popularity, rules.start)
    users = _total(statistics.moment, np.eye(1))
    taken = popularity.positive() / users
    if rules.free_gravity:
        side = with_gravity(side, first_gravity(taken), rules.penalty)
    return State(replace(side, offsets=taken / (taken + side.clicks.gravity)), frame, popularity)


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
        The users' ridge is this many times the mean squared residual (explicit feedback). Large in the first
        rounds, where a user's vector should follow the strongest directions only.
    last
        Whether no round follows.
    """
    updated = state.popularity.updated(statistics.weight, statistics.weight_sigma)
    # The next question needs what is expected of the new weights, and nothing here does. The large products bring their
    # own threads; those of a BLAS would wait for small ones in a busy loop, on the same cores.
    with kernels.beside(updated.positive), kernels.one_blas_thread():
        if _drowned(state.frame, statistics):
            return state
        return _refined(state, statistics, rules, updated, caution, last)


def _refined(
    state: State, statistics: RoundStatistics, rules: Rules, updated: ItemWeights, caution: float, last: bool
) -> State:
    before, frame, popularity = state.side, state.frame, state.popularity
    clicks = isinstance(before.rule, Clicks)
    now = normalised(frame, statistics, popularity)
    gradient, side = statistics.gradient, before
    if clicks:
        if rules.free_gravity and not frame.start:
            # Taste that an earlier model found is not hidden by the noise of this run.
            hard = 0.0 if state.warm else rules.hard
            settled = settled_gravity(side.clicks.gravity, *_mean_score(frame, statistics), hard)
            side = with_gravity(side, settled, rules.penalty)
        gradient = _without_pull(gradient, side, frame, now)
    # Read by five products, and never written to: a device may keep it.
    gradient.setflags(write=False)
    # Scatter of single ratings in an item's sum: their average weight times the item's.
    average = (now.weight.sum() if clicks else now.total) / rules.activity.ratings
    scatter = now.mean_square * average * now.weight
    variance = statistics.gradient_sigma**2 + scatter
    expected, earlier = None, state.known
    if state.doubt is not None:
        expected = _REMEMBERED * state.doubt + 1.0 - _REMEMBERED
    if state.warm and state.doubt is not None and rules.start is not None:
        drift = best_drift(gradient, now.weight, variance, state.doubt)
        expected = (state.doubt + drift) / (1.0 + drift)
        earlier = rules.start.information(drift) if state.known is None else state.known
    found = estimate(gradient, now.weight, variance, floor=_FLOOR, expected=expected, prior=rules.prior)
    step = _Step.of(side, frame, now, statistics, variance)
    solved = step.solved(found.vectors)
    factors = step.factors(solved, None if frame.start else side.factors)
    share = popularity.positive()
    spread = spread_of(frame, now.moment, now.usual_square, share / share.sum())
    heard = state.offsets
    if heard is None:
        offsets = side.offsets + step.offsets(solved)
    else:
        # Of the item's score for a mean user, in which offsets and factors do not depend on each other. The step of the
        # factors holds noise back and this one does not, so that all releases can be averaged.
        mean, known = spread.mean, factors @ spread.mean
        usual = side.offsets + (0.0 if frame.start else side.factors @ mean)
        usual += step.offsets(step.solved(gradient), mean)
        noise = np.square(statistics.gradient_sigma / now.weight) * float(np.square(frame.unwhiten[0]).sum())
        heard = heard.moved(known).heard(usual, 1.0 / noise, scatter / np.square(now.weight))
        offsets = _best_offsets(heard, now.weight, rules) - known
    side = replace(side, offsets=offsets, factors=factors)
    taste = None
    if side.rank and clicks:
        # The factors of an earlier model have been shortened by chance already.
        shorten = last and not state.warm
        side, frame, _ = regauge_clicks(side, before, frame, spread, now.weight / now.total, last=shorten)
    elif side.rank:
        directions = Directions.of(side, spread, rules.activity)
        taste = None if frame.start else taste_of(directions, spread)
        side, frame, _ = regauge_ratings(side, frame, spread, rules.activity, directions, caution, last=last)
    frame = replace(frame, residual=float(np.sqrt(now.mean_square)))
    doubt = None if state.frame.start else _relative(found, now.weight)
    # Without the floor that keeps divisions safe: of an item that nobody takes a round says nothing.
    ratio, _ = popularity.scaled(statistics.weight)
    told = np.square(ratio * np.maximum(popularity.estimate, 0.0) / statistics.gradient_sigma)
    pull = side.clicks.gravity * now.total if clicks else 0.0
    reach = now.weight / (now.weight + pull)
    rough = float(np.sqrt(len(now.moment))) * statistics.moment_sigma / now.total
    swing = gravity_noise(*_mean_score(state.frame, statistics)) if clicks and rules.free_gravity else 0.0
    known = told if earlier is None else earlier + told
    fell = min(now.mean_square / state.frame.residual**2, 1.0) if state.frame.residual > 0.0 else 1.0
    return State(
        side, frame, updated, doubt, heard, known, reach, rough, swing, state.warm, told, taste, fell
    )


def refine_offsets(state: State, statistics: RoundStatistics, rules: Rules) -> State:
    """Offsets from a release of the constant feature alone, beside factors that stay as they are."""
    assert state.offsets is not None
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


def with_gravity(side: ItemSide, gravity: float, penalty: float | None = None) -> ItemSide:
    """The same item side under another gravity, which the users' ridge follows unless it is set."""
    held = CLICK_PENALTY * gravity if penalty is None else penalty
    return replace(side, rule=replace(side.clicks, gravity=gravity, factor_penalty=held))


def _relative(found: Estimate, weight: Floats) -> Floats:
    """What is left to find about each item, 1 on average over what is taken."""
    usual = float((found.left * weight).sum() / weight.sum())
    return found.left / usual if usual > 0.0 else np.ones_like(found.left)


def _mean_score(frame: Frame, statistics: RoundStatistics) -> tuple[float, float]:
    """Mean score of what was taken, and its noise: the rest of it is in the gradients of the constant feature."""
    constant, taken = frame.unwhiten[0], max(float(statistics.weight.sum()), 1e-300)
    missing = float((statistics.gradient @ constant).sum())
    noise = float(np.linalg.norm(statistics.gradient_sigma) * np.linalg.norm(constant))
    return 1.0 - missing / taken, noise / taken


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


def _without_pull(gradient: Floats, side: ItemSide, frame: Frame, now: Normalised) -> Floats:
    """Gradients without that of the gravity term: all users, seen item or not, pull the score toward zero."""
    pull = side.clicks.gravity * now.total * frame.unwhiten @ now.moment
    rest = np.empty_like(gradient)

    def some(rows: slice) -> None:
        np.multiply.outer(side.offsets[rows], pull[0], out=rest[rows])
        np.subtract(gradient[rows], rest[rows], out=rest[rows])

    kernels.by_rows(some, len(rest))
    return rest if frame.start else kernels.transform_rows(side.factors, -pull[1:].T, None, rest)


@dataclass(frozen=True)
class _Step:
    """From gradients to the step, in the item side's coordinates.

    Parameters
    ----------
    matrix
        What gradients over ``size`` are multiplied by, where the curvature is shared; else what solutions are.
    size
        Weight of each item and its gravity.
    curvature, ridge
        Of each item, where one was released.
    """

    matrix: Floats
    size: Floats
    curvature: Floats | None = None
    ridge: Floats | None = None

    @classmethod
    def of(
        cls, side: ItemSide, frame: Frame, now: Normalised, statistics: RoundStatistics, variance: Floats
    ) -> _Step:
        gravity = side.clicks.gravity * now.total if isinstance(side.rule, Clicks) else 0.0
        if statistics.curvature is None:
            # A curvature taken for smaller than it is overshoots and the rounds diverge: assume what the noise allows.
            doubt = 2.0 * statistics.moment_sigma / now.total * np.eye(len(now.moment))
            return cls(np.linalg.inv(now.moment + doubt).T @ frame.whiten, now.weight + gravity)
        curvature = statistics.curvature + gravity * now.moment
        ridge = np.sqrt(variance) + 1e-6 * now.weight
        return cls(
            frame.whiten, np.ones_like(ridge), curvature, np.repeat(ridge[:, None], len(frame.whiten), axis=1)
        )

    def solved(self, gradient: Floats) -> Floats:
        """Gradients over the curvature, where each item has its own."""
        if self.curvature is None or self.ridge is None:
            return gradient
        return kernels.solve_items(self.curvature, gradient, self.ridge)

    def factors(self, solved: Floats, before: Floats | None) -> Floats:
        """Factors after the step; ``None`` before it for those that it replaces."""
        return kernels.transform_rows(solved, self.matrix[:, 1:].T, 1.0 / self.size, before)

    def offsets(self, solved: Floats, at: Floats | None = None) -> Floats:
        """How far the offsets move; or the scores of a user whose vector is ``at``."""
        point = self.matrix[:, 0] if at is None else self.matrix[:, 0] + self.matrix[:, 1:] @ at
        moved: Floats = kernels.transform_rows(solved, point[None])[:, 0] / self.size
        return moved
