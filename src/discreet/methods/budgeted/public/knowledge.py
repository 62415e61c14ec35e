"""What a model does not know about its items, and what it would guess of new ones. Public: sees releases only.

Measured against the same run without noise (docs/decisions/0050-calibrated-doubt.md, 0087-taste-that-noise-hides.md,
0115-errors-by-what-is-known.md, 0119-errors-where-people-are.md and 0122-errors-after-the-vote.md;
``benchmarks/calibration.py``). An item's noise says whether it is known, its reach how far its scores are off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.budgeted.public.click_errors import of_clicks
from discreet.methods.budgeted.public.item_errors import Items, left, offset_variances
from discreet.methods.budgeted.public.people import people_along
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import State
from discreet.methods.budgeted.public.unfound import missing, unfound
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.shrinkage import popularity_line
from discreet.model.doubt import Doubt
from discreet.model.feature_map import FeatureMap
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["with_knowledge"]

_FINITE = 1e6  # noise of an item that was not seen, in units of the largest prior variance


@dataclass(frozen=True)
class _Losses:
    """What theory leaves out, as measured.

    Parameters
    ----------
    noise
        Variance of the noise in an item, relative to what an average over all rounds would leave, at which it is
        called unknown: rounds forget, so that items follow what is found late.
    feedback
        By how much that grows with the numbers that a person's few takes are fitted by: a person's vector follows the
        noise of what they took, and brings it back in the next round.
    error, error_feedback
        The same for the noise that is in the distance to the run without noise, relative to that of the last round:
        what steps follow the next one takes back. What a person's own vector follows is counted apart.
    """

    noise: float
    feedback: float
    error: float
    error_feedback: float


_LOSSES = {
    False: _Losses(noise=2.9, feedback=0.0, error=1.0, error_feedback=0.0),
    True: _Losses(noise=1.6, feedback=1.5, error=1.2, error_feedback=0.3),
}
# Part of what all rounds tell that the last one usually does.
_LAST = 0.25
# Ratings. Variance of the noise in offsets, relative to what an average over all rounds would leave.
_AVERAGED = 1.5
# Part of the errors of offsets that a person's items have in common; and part of the variance of offsets by
# which they differ because people's weights follow what the noise has left of their residuals.
_COMMON = 0.03
_WEIGHED = 0.006


def with_knowledge(side: ItemSide, state: State, prior: FeaturePrior | None, activity: Activity) -> ItemSide:
    """The item side with its doubt, and with a map from features to guesses where there are features.

    Parameters
    ----------
    side
        What is released.
    state
        After the last round.
    prior
        Public features.
    activity
        How many ratings or clicks people have.

    Notes
    -----
    In coordinates ``z = (offset, factors) whiten^-1 / reach`` items have about the same covariance, and the noise is
    about the same in every direction. Principal directions of the items, by how often they are taken, are the
    directions of the doubt. Estimates vary by less than the truth, by the posterior variance, so the prior variances
    follow by iteration.
    """
    known, whiten = state.known, state.frame.whiten
    if known is None or state.reach is None or len(whiten) != 1 + side.rank:
        return side
    clicks = isinstance(side.rule, Clicks)
    losses, taken = _LOSSES[clicks], state.popularity.positive()
    share = taken / taken.sum()
    rows = np.column_stack([side.offsets, side.factors])
    base = share @ rows
    # A score of clicks is expected to be near zero where nothing is known, a rating near a usual one.
    around = rows if clicks else rows - base
    plain = (around / state.reach[:, np.newaxis]) @ np.linalg.inv(whiten)
    seen, basis = np.linalg.eigh((plain * share[:, np.newaxis]).T @ plain)
    fitted = side.rank / activity.ratings_per_user
    feedback = (1.0 + losses.feedback * fitted) ** 2
    seen = np.maximum(seen, 1e-12 * max(float(seen.max()), 1e-12))
    noise = losses.noise * feedback / np.maximum(known, 1.0 / (_FINITE * float(seen.max())))
    variances = _prior(seen, noise, share)
    noise = np.minimum(noise, _FINITE * variances.max())
    doubt = Doubt(noise, basis.T @ whiten, variances, state.reach if clicks else None)
    level = rows if clicks else rows - _by_popularity(side.offsets, noise, taken, share, 1 + side.rank)
    feature_map = None if prior is None else _feature_map(level, base, share, doubt, prior)
    error = losses.error * (1.0 + losses.error_feedback * fitted) / (losses.noise * feedback) * noise
    items = Items.of(state.popularity, activity.ratings)
    if clicks:
        known = items.share * np.maximum(doubt.noise.min() / doubt.noise, 1.0 / _FINITE)
        error = error * float(known.sum() / (known @ _told_last(state)))
        doubt = of_clicks(doubt, side, state, items, np.square(plain @ basis), error, activity)
    else:
        doubt = _of_ratings(doubt, side, state, items, error, activity, np.square(basis[0]))
    return replace(side, doubt=doubt, feature_map=feature_map)


def _of_ratings(
    doubt: Doubt,
    side: ItemSide,
    state: State,
    items: Items,
    error: Floats,
    activity: Activity,
    level: Floats,
) -> Doubt:
    """Errors of ratings: what is left of each item, and what is missing in all scores of a person.

    Offsets are averaged over all releases. Factors are not: people's vectors follow each step, and the next step takes
    back what they followed, so that of the factors' noise that of the last round is left. ``level`` is the part that
    the offset has in each direction.
    """
    if side.rank == 0 and state.offsets is not None:
        variances = offset_variances(state.offsets, items)
        common = float(activity.shares @ (1.0 / activity.sizes)) + _COMMON
        shared = common * float(items.share @ variances)
        variances = variances / float(np.square(doubt.directions[0, 0]))
        return replace(doubt, reach=np.sqrt(variances / left(doubt.prior, doubt.noise)), shared=shared)
    last = _told_last(state)
    along = people_along(side, items.share, state.frame.residual**2, activity, doubt.directions)
    offsets = left(doubt.prior, _AVERAGED * error, along * level)

    def off(told: Floats) -> Floats:
        """Variance of scores, where ``told`` of all that is known stands for factors."""
        return offsets + left(doubt.prior, error / np.maximum(told, 1.0 / _FINITE), along * (1.0 - level))

    # Before the last round: between what all rounds before it told, and what the one before it did.
    before = float(items.share @ off((1.0 - last) * np.sqrt(last)))
    # Scores were off by no more than the residual then, and the step has weighed that against its own noise.
    after = off(last)
    after *= state.frame.residual**2 / (state.frame.residual**2 + float(items.share @ after))
    reach = np.sqrt(after / left(doubt.prior, doubt.noise, along))
    return replace(doubt, reach=reach, shared=_unfound(side, state, items.share, activity, before))


def _told_last(state: State) -> Floats:
    """Part of what is known of each item that the last round told.

    What an earlier model knew its few rounds do not take back: there it is at least what it is without one.
    """
    assert state.known is not None
    if state.told is None:
        return np.ones_like(state.known)
    none = np.zeros_like(state.known)
    told: Floats = np.divide(state.told, state.known, out=none, where=state.known > 0.0)
    return np.maximum(told, _LAST) if state.warm else told


def _unfound(side: ItemSide, state: State, share: Floats, activity: Activity, noise: float) -> float:
    """Taste in ratings that the noise hid: it is missing in all scores of a person.

    ``noise`` is the variance that items' numbers were off by before the last round, in the residual that it stated.
    """
    assert state.known is not None
    # Between that of popular items, which have the say in people's vectors, and that of all others they took.
    known, square = float(share @ state.known**0.25) ** 4, state.frame.residual**2
    if side.rank == 0 or not (known > 0.0 and square > 0.0):
        return 0.0
    ratings = activity.ratings * float(share @ share)
    hidden = unfound(share @ np.square(side.factors), known, ratings, square, activity)
    offsets = float(share @ np.square(side.offsets - share @ side.offsets))
    return missing(hidden + _WEIGHED * offsets, square, noise, state.fell, activity)


def _prior(seen: Floats, noise: Floats, share: Floats) -> Floats:
    variances = seen.copy()
    for _ in range(20):
        variances = seen + share @ (variances * noise[:, np.newaxis] / (variances + noise[:, np.newaxis]))
    return variances


def _by_popularity(offsets: Floats, noise: Floats, taken: Floats, share: Floats, width: int) -> Floats:
    """How much of each offset follows popularity alone, beside the usual item: of a new item nobody knows that.

    Most items are rare, and rare items are rated lower: features would be taken to say so of every new item.
    """
    line, _ = popularity_line(offsets, noise, taken)
    above: Floats = np.zeros((len(offsets), width))
    above[:, 0] = line - share @ line
    return above


def _feature_map(rows: Floats, base: Floats, share: Floats, doubt: Doubt, prior: FeaturePrior) -> FeatureMap:
    """Regression of what was learnt on features; a guess has the noise at which as much is left as they leave."""
    squares = np.square(doubt.directions)
    reached = np.ones(len(rows)) if doubt.reach is None else np.square(doubt.reach)
    variances = ((doubt.left * doubt.prior) @ squares) * reached[:, np.newaxis]
    total = share @ (rows - base) ** 2
    fit = prior.fit(rows - base, np.ones(len(rows)), variances.mean(axis=1), np.maximum(total, 1e-12))
    explained = float(1.0 - fit.own.sum() / max(float(total.sum()), 1e-300))
    unsure = float(share @ (doubt.left @ doubt.prior)) / float(doubt.prior.sum())
    # Share of the prior variance that is left: what features do not explain, and what was not learnt of the rest.
    part = min(max(1.0 - explained * (1.0 - unsure), 1e-6), 1.0 - 1e-6)
    return FeatureMap(fit.coefficients, base, part / (1.0 - part) * float(doubt.prior.max()))
