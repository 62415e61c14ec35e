"""What a model does not know about its items, and what it would guess of new ones. Public: sees releases only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.model.doubt import Doubt
from discreet.model.feature_map import FeatureMap
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["with_knowledge"]


def with_knowledge(
    side: ItemSide, whiten: Floats, known: Floats | None, prior: FeaturePrior | None, share: Floats
) -> ItemSide:
    """The item side with its doubt, and with a map from features to guesses where there are features.

    Parameters
    ----------
    side
        After the last round.
    whiten
        Coordinates in which users' features are about as large in all directions.
    known
        What all rounds together told about each item: one over the variance of their noise, in those coordinates, with
        the scatter of single ratings. ``None`` where there was no round.
    prior
        Public features.
    share
        Of all takes, one for each item.

    Notes
    -----
    In coordinates ``z = (offset, factors) whiten^-1`` items have about the same variance in every direction. It is
    estimated from the items by how well they are known, less their noise, and with what was told of an item gives its
    posterior variance.
    """
    if known is None or len(whiten) != 1 + side.rank:
        return side
    rows = np.column_stack([side.offsets, side.factors])
    base = share @ rows
    spread = np.square((rows - base) @ np.linalg.inv(whiten)).mean(axis=1)
    usual = max(float(share @ spread), 1e-12)
    for _ in range(20):
        left = 1.0 / (1.0 / usual + known)
        # Estimates vary by less than the truth, by the posterior variance.
        usual = max(float(share @ (spread + left)), 1e-12)
    variances = 1.0 / (1.0 / usual + known)
    directions = whiten.T @ whiten
    doubt = Doubt(variances, 0.5 * (directions + directions.T), usual)
    if prior is None:
        return replace(side, doubt=doubt)
    total = share @ (rows - base) ** 2
    each = float(np.trace(directions)) / len(whiten)
    fit = prior.fit(rows - base, np.ones(len(rows)), variances * each, np.maximum(total, 1e-12))
    own = float(fit.own.mean()) / max(each, 1e-300) + float(share @ variances)
    return replace(side, doubt=doubt, feature_map=FeatureMap(fit.coefficients, base, own))
