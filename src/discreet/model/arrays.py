"""The arrays of a model fit each other, whoever made or stored them."""

from __future__ import annotations

import numpy as np

from discreet.errors import ModelInvalid
from discreet.model.item_side import ItemSide

__all__ = ["check_item_side"]


def check_item_side(side: ItemSide) -> None:
    """Shapes fit each other and every number is finite."""
    m = side.offsets.shape[0]
    if side.offsets.ndim != 1 or side.factors.ndim != 2 or side.factors.shape[0] != m:
        raise ModelInvalid(
            f"offsets {side.offsets.shape} and factors {side.factors.shape} do not fit each other"
        )
    if (side.feedback == "explicit") != (side.rating_range is not None):
        raise ModelInvalid(f"{side.feedback} feedback with the rating range {side.rating_range}")
    if side.own_mean is not None and side.own_mean.shape != (m,):
        raise ModelInvalid(f"own_mean has the shape {side.own_mean.shape} and not ({m},)")
    if side.eigenvalues is not None:
        if side.eigenvalues.shape != side.factors.shape[1:] or side.own_mean is None:
            raise ModelInvalid(
                "a model of Frank-Wolfe steps needs one eigenvalue for each factor, and own_mean"
            )
        if not (side.nuclear_bound > 0 and side.row_bound > 0):
            raise ModelInvalid("a model of Frank-Wolfe steps needs bounds above zero")
    for name in ("offsets", "factors", "own_mean", "eigenvalues"):
        array = getattr(side, name)
        if array is not None and not np.isfinite(array).all():
            raise ModelInvalid(f"{name} has numbers that are not finite")
