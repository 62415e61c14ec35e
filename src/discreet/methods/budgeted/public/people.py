"""How far people's vectors reach along directions of items, for clicks. Public: sees releases only.

An item's numbers have as many directions as the model, and few of them move anybody's scores: along a weak direction a
person's few clicks hardly tell anything, the ridge holds their vector near zero, and whatever is wrong with the items
there is wrong with no score.
"""

from __future__ import annotations

import numpy as np

from discreet import kernels
from discreet.methods.budgeted.public.chance import chance_covariance
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["people_along"]


def people_along(side: ItemSide, taken: Floats, directions: Floats) -> Floats:
    """Mean square of people's ``(1, u)`` along each direction.

    Parameters
    ----------
    side
        As released: people's vectors are folded into it.
    taken
        Share of the users who took each item.
    directions
        In rows; the offset comes first.

    Notes
    -----
    People's tastes have unit covariance in the coordinates of a released model. Of a taste t a person's ridge
    regression shows ``H t`` with ``H = (A + ridge)^-1 A`` and A what they took and what gravity adds; their clicks fall
    on it by chance besides (`discreet.methods.budgeted.public.chance`).
    """
    taken = np.clip(taken, 0.0, 1.0)
    curvature = kernels.weighted_moment(side.factors, side.clicks.gravity + taken)
    held = np.linalg.solve(curvature + side.clicks.factor_penalty * np.eye(side.rank), curvature)
    covariance = held @ held.T + chance_covariance(side, taken)
    offsets, factors = directions[:, 0], directions[:, 1:]
    along: Floats = np.square(offsets) + np.einsum("ki,ij,kj->k", factors, covariance, factors)
    return along
