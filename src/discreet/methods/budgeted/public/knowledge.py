"""What a model does not know about its items, and what it would guess of new ones. Public: sees releases only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.shrinkage import Estimate
from discreet.model.doubt import Doubt
from discreet.model.feature_map import FeatureMap
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Left", "left_to_know", "with_knowledge"]


@dataclass(frozen=True)
class Left:
    """Posterior variance of what the last round looked for.

    Parameters
    ----------
    variances
        One number an item.
    directions
        (1 + rank) square, of ``(offset, factors)``: an item's covariance is its variance times this.
    most
        Variance of an item of which nothing was seen.
    """

    variances: Floats
    directions: Floats
    most: float

    def moved(self, change: Floats) -> Left:
        """In coordinates in which the factors are multiplied by ``change``."""
        whole = np.eye(len(self.directions))
        whole[1:, 1:] = change
        return replace(self, directions=whole.T @ self.directions @ whole)


def left_to_know(found: Estimate, weight: Floats, path: Floats, length: Floats) -> Left:
    """From the estimate of a round's gradients to the item side's own units.

    Parameters
    ----------
    weight
        How much each item is taken.
    path
        From a row of gradients to a row of ``(offset, factors)``.
    length
        What each item's row is multiplied by beside.
    """
    variances = found.left.mean(axis=1)
    heavy = variances * weight
    shape = (found.left * weight[:, None]).sum(axis=0) / max(float(heavy.sum()), 1e-300)
    way = found.basis.T @ path
    directions = (way * shape[:, None]).T @ way
    most = float(found.values.mean() * found.expected.max())
    return Left(variances * length**2, 0.5 * (directions + directions.T), max(most, 1e-300))


def with_knowledge(side: ItemSide, left: Left | None, prior: FeaturePrior | None, share: Floats) -> ItemSide:
    """The item side with its doubt, and with a map from features to guesses where there are features."""
    if left is None:
        return side
    variances = np.minimum(left.variances, left.most)
    doubt = Doubt(variances, left.directions, left.most)
    if prior is None:
        return replace(side, doubt=doubt)
    rows = np.column_stack([side.offsets, side.factors])
    base = share @ rows
    total = share @ (rows - base) ** 2
    noise = variances * float(np.trace(left.directions)) / rows.shape[1]
    fit = prior.fit(rows - base, np.ones(len(rows)), noise, np.maximum(total, 1e-12))
    own = float(fit.own.sum()) / max(float(np.trace(left.directions)), 1e-300)
    return replace(side, doubt=doubt, feature_map=FeatureMap(fit.coefficients, base, own))
