"""How alike two items are, from their factors and from how little is known about them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Directions", "compared"]


class Directions(NamedTuple):
    """The similarity of an item to all others is the product of ``wanted`` with the rows of ``others``."""

    wanted: Floats
    others: Floats


def compared(side: ItemSide, item: int) -> Directions:
    """What an item and all others are compared by; the item's factors are not zero.

    With doubt it is the correlation, over people, of the two items' scores: people's vectors have unit covariance, so
    two items have the covariance ``v_i . v_j``, and what an item's score varies by is expected to be
    ``|v_j|^2 + tr C_j``, with C_j the covariance of its factors. Doubt makes it smaller, from both sides.

    Without doubt it is the cosine, made smaller for items whose factors are shorter than usual (root mean square): a
    short vector is one of which training could learn little, and its direction is mostly noise.
    """
    factors = side.factors
    lengths = np.linalg.norm(factors, axis=1)
    if side.doubt is None:
        usual = float(np.sqrt(np.square(lengths).mean()))
        spread = np.maximum(lengths, usual)
        return Directions(factors[[item]] / lengths[item], factors / spread[:, np.newaxis])
    spread = np.sqrt(np.square(lengths) + side.doubt.factor_variances)
    others = factors / np.where(spread > 0.0, spread, 1.0)[:, np.newaxis]
    return Directions(others[[item]], others)
