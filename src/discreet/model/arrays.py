"""The arrays of a model fit each other, whoever made or stored them."""

from __future__ import annotations

import numpy as np

from discreet.errors import ModelInvalid
from discreet.item_side import ItemSide

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
    for name in ("offsets", "factors"):
        if not np.isfinite(getattr(side, name)).all():
            raise ModelInvalid(f"{name} has numbers that are not finite")
