"""What a model says of its items at the end: how much is noise, and what features lead one to expect. Public.

How much is noise is one number: the noise known from the releases against the signal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.step import State
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.shrinkage import popularity_line
from discreet.model.item_side import FeatureMap, ItemSide
from discreet.model.start import Start
from discreet.types import Floats

__all__ = ["finished"]

_LEAST = 1e-6  # signal of an item that was not seen, relative to noise


def finished(side: ItemSide, state: State, prior: FeaturePrior | None, start: Start | None) -> ItemSide:
    """The item side with popularity, the noise ratio of each item, and a map from features to guesses."""
    share = state.share
    side = replace(side, popularity=share)
    if state.precision is None or len(state.frame.whiten) != 1 + side.rank:
        return side
    rows = np.column_stack([side.offsets, side.factors])
    ratio = _noise_ratio(rows - share @ rows, state, share)
    if state.drift is not None and start is not None and start.noise_ratio is not None:
        # What is known adds up: a ratio of r is worth 1 / r - 1.
        ratio = 1.0 / (1.0 / ratio + 1.0 / start.after_drift(state.drift) - 1.0)
    if prior is not None:
        side = replace(side, feature_map=_feature_map(rows, ratio, state, prior))
    return replace(side, noise_ratio=ratio)


def _noise_ratio(above: Floats, state: State, share: Floats) -> Floats:
    """Share of each item's variance that is noise.

    In coordinates ``z = (offset, factors) whiten^-1`` items have about the same covariance, and the noise is about the
    same in every direction. Estimates vary by less than the truth, by the posterior variance, so the variance of the
    truth along each principal direction follows by iteration.
    """
    assert state.precision is not None
    plain = above @ state.frame.unwhiten
    found = np.linalg.eigvalsh((plain * share[:, np.newaxis]).T @ plain)
    found = np.maximum(found, 1e-12 * max(float(found.max()), 1e-12))
    noise = fitted.FORGOTTEN / np.maximum(state.precision, _LEAST / float(found.max()))[:, np.newaxis]
    signal = found
    for _ in range(20):
        signal = found + share @ (signal * noise / (signal + noise))
    ratio: Floats = (noise / (signal + noise)) @ signal / float(signal.sum())
    return ratio


def _feature_map(rows: Floats, ratio: Floats, state: State, prior: FeaturePrior) -> FeatureMap:
    """Regression of what was learnt on features; a guess leaves as much open as they leave."""
    share = state.share
    base = share @ rows
    total = np.maximum(share @ (rows - base) ** 2, 1e-12)
    # Most items are rare, and rare items are rated lower: features would be taken to say so of every new item.
    level = rows - base
    line, _ = popularity_line(rows[:, 0], ratio * total[0], state.popularity.positive())
    level[:, 0] -= line - share @ line
    fit = prior.fit(level, np.ones(len(rows)), ratio * float(total.mean()), total)
    explained = float(1.0 - fit.own.sum() / float(total.sum()))
    # What features do not explain, and what was not learnt of the rest.
    left = min(max(1.0 - explained * (1.0 - float(share @ ratio)), 1e-6), 1.0)
    return FeatureMap(fit.coefficients, base, left)
