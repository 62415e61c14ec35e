"""What a model does not know about its items, and what it would guess of new ones. Public: sees releases only.

Measured against the same run without noise (docs/decisions/0050-calibrated-doubt.md and
0087-taste-that-noise-hides.md, ``benchmarks/calibration.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import State
from discreet.methods.budgeted.public.unfound import unfound
from discreet.methods.shared.public.feature_prior import FeaturePrior
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
        Variance of the noise that stays in an item, relative to what an average over all rounds would leave: rounds
        forget, so that items follow what is found late.
    feedback
        By how much that grows with the numbers that a person's few takes are fitted by: a person's vector follows the
        noise of what they took, and brings it back in the next round.
    blur
        Part of the last round's noise that stays in scores which only gravity holds.
    scale
        Relative variance of the size of scores, as a part of the ratio of noise to signal; and what is left without.
    """

    noise: float
    feedback: float
    blur: float
    scale: float
    least_scale: float


_LOSSES = {
    False: _Losses(noise=2.9, feedback=0.0, blur=0.0, scale=0.0, least_scale=0.0),
    True: _Losses(noise=1.6, feedback=1.5, blur=1.0, scale=0.1, least_scale=0.013),
}


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
    feedback = (1.0 + losses.feedback * side.rank / activity.ratings_per_user) ** 2
    seen = np.maximum(seen, 1e-12 * max(float(seen.max()), 1e-12))
    noise = losses.noise * feedback / np.maximum(known, 1.0 / (_FINITE * float(seen.max())))
    variances = _prior(seen, noise, share)
    noise = np.minimum(noise, _FINITE * variances.max())
    left = variances * noise[:, np.newaxis] / (variances + noise[:, np.newaxis])
    unsure = float((share @ left).sum() / variances.sum())
    doubt = Doubt(
        noise,
        basis.T @ whiten,
        variances,
        state.reach if clicks else None,
        losses.blur * state.blur if clicks else _unfound(side, state, share, activity),
        losses.least_scale + losses.scale * unsure,
    )
    if prior is None:
        return replace(side, doubt=doubt)
    return replace(side, doubt=doubt, feature_map=_feature_map(rows, base, share, doubt, prior))


def _unfound(side: ItemSide, state: State, share: Floats, activity: Activity) -> float:
    """Taste in ratings that the noise hid: it is missing in all scores of a person."""
    assert state.known is not None
    known, square = float(share @ state.known), state.frame.residual**2
    if side.rank == 0 or not (known > 0.0 and square > 0.0):
        return 0.0
    ratings = activity.ratings * float(share @ share)
    return unfound(share @ np.square(side.factors), known, ratings, square, activity)


def _prior(seen: Floats, noise: Floats, share: Floats) -> Floats:
    variances = seen.copy()
    for _ in range(20):
        variances = seen + share @ (variances * noise[:, np.newaxis] / (variances + noise[:, np.newaxis]))
    return variances


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
