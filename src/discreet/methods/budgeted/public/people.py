"""How far people's vectors reach along directions of items. Public: sees releases only.

An item's numbers have as many directions as the model, and few of them move anybody's scores: along a weak direction a
person's few ratings or clicks hardly tell anything, the ridge holds their vector near zero, and whatever is wrong with
the items there is wrong with no score.
"""

from __future__ import annotations

import numpy as np

from discreet import kernels
from discreet.methods.budgeted.public.chance import chance_covariance
from discreet.methods.budgeted.public.plan import Activity
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["noise_followed", "people_along"]


def people_along(
    side: ItemSide, share: Floats, square: float, activity: Activity, directions: Floats
) -> Floats:
    """Mean square of people's ``(1, u)`` along each direction.

    Parameters
    ----------
    side
        As released: people's vectors are folded into it.
    share
        Of all takes, one for each item.
    square
        Squared residual of single ratings.
    activity
        How many ratings or clicks people have.
    directions
        In rows; the offset comes first.

    Notes
    -----
    People's tastes have unit covariance in the coordinates of a released model. Of a taste t a person's ridge
    regression shows ``H t`` with ``H = (A + ridge)^-1 A`` and A what they took, and for clicks what gravity adds. The
    scatter of their ratings moves their vector besides, or their clicks by chance
    (`discreet.methods.budgeted.public.chance`).
    """
    clicks = isinstance(side.rule, Clicks)
    covariance = _clicks(side, share, activity) if clicks else _ratings(side, share, square, activity)
    offsets, factors = directions[:, 0], directions[:, 1:]
    along: Floats = np.square(offsets) + np.einsum("ki,ij,kj->k", factors, covariance, factors)
    return along


def noise_followed(
    side: ItemSide, share: Floats, square: float, activity: Activity, directions: Floats, noise: Floats
) -> Floats:
    """Variance in each item's scores of what people's vectors follow of the noise in what they took (clicks).

    Parameters
    ----------
    side
        As released: people's vectors are folded into it.
    share
        Of all takes, one for each item.
    square
        Squared residual of single clicks.
    activity
        How many clicks people have.
    directions
        In rows; the offset comes first.
    noise
        Items x directions: variance of the noise in items' numbers.

    Notes
    -----
    A person's vector solves ``(A + ridge) u = sum over taken (1 - b) v``, with A what they took and gravity. Errors d
    of the factors move it by ``(A + ridge)^-1 sum over taken r d`` to first order, where r is the residual of a click;
    what they do to A is next to nothing beside that. A strong ridge holds this back more than it holds back taste.
    Where that is as much as scores vary by at all it no longer holds to first order: vectors that follow noise follow
    less of anything else.
    """
    taken = _taken(share, activity)
    factors = directions[:, 1:]
    moved = factors.T @ ((square * (taken @ noise))[:, np.newaxis] * factors)
    inverse = np.linalg.inv(_curvature(side, taken) + side.clicks.factor_penalty * np.eye(side.rank))
    variances = _in_scores(side, inverse @ moved @ inverse)
    whole = np.maximum(_in_scores(side, _clicks(side, share, activity)), np.finfo(np.float64).tiny)
    followed: Floats = variances * (whole / (variances + whole))
    return followed


def _in_scores(side: ItemSide, covariance: Floats) -> Floats:
    """Variance of each item's scores, where people's vectors have this covariance."""
    variances: Floats = ((side.factors @ covariance) * side.factors).sum(axis=1)
    return np.maximum(variances, 0.0)


def _clicks(side: ItemSide, share: Floats, activity: Activity) -> Floats:
    taken = _taken(share, activity)
    curvature = _curvature(side, taken)
    held = np.linalg.solve(curvature + side.clicks.factor_penalty * np.eye(side.rank), curvature)
    covariance: Floats = held @ held.T + chance_covariance(side, taken)
    return covariance


def _taken(share: Floats, activity: Activity) -> Floats:
    """Share of the people who took each item."""
    return np.clip(share * activity.ratings_per_user, 0.0, 1.0)


def _curvature(side: ItemSide, taken: Floats) -> Floats:
    """Of a usual person's regression, without the ridge."""
    return kernels.weighted_moment(side.factors, side.clicks.gravity + taken)


def _ratings(side: ItemSide, share: Floats, square: float, activity: Activity) -> Floats:
    power, basis = np.linalg.eigh(kernels.weighted_moment(side.factors, share))
    curve = activity.sizes[:, np.newaxis] * np.maximum(power, 0.0)
    held = curve + max(side.ridge.factor_penalty, np.finfo(np.float64).tiny)
    variances = activity.shares @ (np.square(curve / held) + square * curve / np.square(held))
    covariance: Floats = (basis * variances) @ basis.T
    return covariance
