"""What a model does not know about its items, and what it would guess of new ones. Public: sees releases only.

What the model says of an item is one number: its noise, known from the releases, against its signal
(docs/decisions/0046-noise-ratio-and-guesses.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.methods.budgeted.public.round import State
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.shrinkage import popularity_line
from discreet.model.doubt import Doubt
from discreet.model.feature_map import FeatureMap
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["with_knowledge"]

_FINITE = 1e6  # noise of an item that was not seen, in units of the largest prior variance
# Variance of the noise in an item, relative to what an average over all rounds would leave, at which it is called
# unknown: rounds forget, so that items follow what is found late.
_NOISE = 2.9


def with_knowledge(side: ItemSide, state: State, prior: FeaturePrior | None) -> ItemSide:
    """The item side with its doubt, and with a map from features to guesses where there are features.

    Parameters
    ----------
    side
        What is released.
    state
        After the last round.
    prior
        Public features.

    Notes
    -----
    In coordinates ``z = (offset, factors) whiten^-1`` items have about the same covariance, and the noise is
    about the same in every direction. Principal directions of the items, by how often they are taken, are the
    directions of the doubt. Estimates vary by less than the truth, by the posterior variance, so the prior variances
    follow by iteration.
    """
    known, whiten = state.known, state.frame.whiten
    if known is None or len(whiten) != 1 + side.rank:
        return side
    taken = state.popularity.positive()
    share = taken / taken.sum()
    rows = np.column_stack([side.offsets, side.factors])
    base = share @ rows
    plain = (rows - base) @ np.linalg.inv(whiten)
    seen, basis = np.linalg.eigh((plain * share[:, np.newaxis]).T @ plain)
    seen = np.maximum(seen, 1e-12 * max(float(seen.max()), 1e-12))
    noise = _NOISE / np.maximum(known, 1.0 / (_FINITE * float(seen.max())))
    variances = _prior(seen, noise, share)
    noise = np.minimum(noise, _FINITE * variances.max())
    doubt = Doubt(noise, basis.T @ whiten, variances)
    level = rows - _by_popularity(side.offsets, noise, taken, share, 1 + side.rank)
    feature_map = None if prior is None else _feature_map(level, base, share, doubt, prior)
    return replace(side, doubt=doubt, feature_map=feature_map)


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
    variances = (doubt.left * doubt.prior) @ np.square(doubt.directions)
    total = share @ (rows - base) ** 2
    fit = prior.fit(rows - base, np.ones(len(rows)), variances.mean(axis=1), np.maximum(total, 1e-12))
    explained = float(1.0 - fit.own.sum() / max(float(total.sum()), 1e-300))
    unsure = float(share @ doubt.noise_ratio)
    # Share of the prior variance that is left: what features do not explain, and what was not learnt of the rest.
    part = min(max(1.0 - explained * (1.0 - unsure), 1e-6), 1.0 - 1e-6)
    return FeatureMap(fit.coefficients, base, part / (1.0 - part) * float(doubt.prior.max()))
