"""How alike two items are, from their factors and from how little is known about them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Directions", "compared"]


class Directions(NamedTuple):
    """The similarity of an item to all others: ``believed`` times the product of ``wanted`` with ``others``' rows."""

    wanted: Floats
    others: Floats
    believed: float = 1.0


def compared(side: ItemSide, item: int) -> Directions:
    """What an item and all others are compared by; the item's factors are not zero.

    With doubt it is the correlation, over people, of the two items' scores: people's vectors have unit covariance, so
    two items have the covariance ``v_i . v_j``, and what an item's score varies by is expected to be
    ``|v_j|^2 + tr C_j``, with C_j the covariance of its factors. Doubt makes it smaller, from both sides. The best of
    thousands of pairs look alike in any noise, so all scores are held back by what the factors as a whole show beyond
    their doubt: nothing where ``tr C`` is as large as ``|v|^2``.

    Without doubt it is the cosine, made smaller for items whose factors are shorter than usual (root mean square): a
    short vector is one of which training could learn little, and its direction is mostly noise.
    """
    factors = side.factors
    lengths = np.linalg.norm(factors, axis=1)
    if side.doubt is None:
        usual = float(np.sqrt(np.square(lengths).mean()))
        spread = np.maximum(lengths, usual)
        return Directions(factors[[item]] / lengths[item], factors / spread[:, np.newaxis])
    doubt = side.doubt.factor_variances
    spread = np.sqrt(np.square(lengths) + doubt)
    others = factors / np.where(spread > 0.0, spread, 1.0)[:, np.newaxis]
    return Directions(others[[item]], others, _believed(lengths[side.trained], doubt[side.trained]))


def _believed(lengths: Floats, doubt: Floats) -> float:
    """From 1 where factors are far longer than their doubt to 0 where they are not longer."""
    ratio = float(doubt.sum() / np.square(lengths).sum())
    return float(np.sqrt(max(1.0 - ratio**2, 0.0)))
