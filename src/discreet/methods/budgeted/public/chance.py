"""How much of the spread of users' vectors chance explains, for clicks. Public: sees releases only.

A direction of the item factors that is noise still moves the users' vectors: each user's handful of clicks falls on it
by chance. How much follows from public numbers alone. So the released covariance of the vectors tells directions that
hold taste from those that hold none, and the users' ridge can shrink the latter.
"""

from __future__ import annotations

import numpy as np

from discreet import kernels
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["beyond_chance", "chance_covariance"]


# Share of the covariance by chance that is taken off. In directions that hold nothing the released covariance was
# 0.7 to 1 times the computed one (market of rank 8, epsilon 20; less where noise prevails); 1 costs MovieLens 1M.
_CHANCE = 0.7
# Smallest share of a direction's covariance to keep, so that one still being found is not lost.
_BELIEVED = 0.1
# Share of all directions to keep where none can be told from the others.
_UNTOLD = 0.5


def chance_covariance(side: ItemSide, taken: Floats) -> Floats:
    """Covariance that the users' vectors would have if everybody took items by popularity alone.

    Parameters
    ----------
    side
        What the users' vectors were computed from.
    taken
        Released share of the users who took each item.

    Notes
    -----
    A user's vector solves ``(gravity V^T V + sum over taken v v^T + ridge) u = sum over taken (1 - b) v - const``.
    With independent takes of known chance the right side has a known covariance; the left is taken at its mean.
    """
    taken = np.clip(taken, 0.0, 1.0)
    scatter = taken * (1.0 - taken) * (1.0 - side.offsets) ** 2
    curvature = kernels.weighted_moment(side.factors, side.clicks.gravity + taken)
    inverse = np.linalg.inv(curvature + side.clicks.factor_penalty * np.eye(side.rank))
    covariance: Floats = inverse @ kernels.weighted_moment(side.factors, scatter) @ inverse
    return covariance


def beyond_chance(root: Floats, chance: Floats) -> Floats:
    """A root of the users' covariance, each direction shortened to what chance does not explain of it.

    Where chance would explain more than all of every direction, the vectors are too noisy to tell them apart, and all
    are shortened alike.
    """
    inverse = np.linalg.inv(root)
    explained, turn = np.linalg.eigh(inverse @ chance @ inverse.T)
    kept = np.maximum(1.0 - _CHANCE * explained, _BELIEVED)
    if explained[0] > 1.0:
        kept[:] = _UNTOLD
    shortened: Floats = (root @ turn) * np.sqrt(kept)
    return shortened
