"""How alike two items are, from their factors and from how little is known about them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Directions", "compared"]


class Directions(NamedTuple):
    """The similarity of an item to all others: the root of ``believed`` times ``wanted`` times ``others``' rows.

    ``believed`` says how far the item's own factors are known to be more than noise, from 0 to 1.
    """

    wanted: Floats
    others: Floats
    believed: float = 1.0


def compared(side: ItemSide, item: int) -> Directions:
    """What an item and all others are compared by; the item's factors are not zero.

    With doubt it is the correlation, over people, of the two items' scores: people's vectors have unit covariance, so
    two items have the covariance ``v_i . v_j``, and what an item's score varies by is expected to be
    ``|v_j|^2 + r_j F``, with r_j its noise ratio and F the mean square of true factors. Doubt makes it smaller, from
    both sides. The best of
    thousands of pairs look alike in any noise, so each item is held back by how much of it is known: not at all
    where all is, altogether where a quarter of what its factors could be is still open. That is judged by the noise
    that was in what was seen of it, not by the factors themselves, which may be long by chance.

    Without doubt it is the cosine, made smaller for items whose factors are shorter than usual (root mean square): a
    short vector is one of which training could learn little, and its direction is mostly noise.
    """
    factors = side.factors
    lengths = np.linalg.norm(factors, axis=1)
    if side.doubt is None:
        usual = float(np.sqrt(np.square(lengths).mean()))
        spread = np.maximum(lengths, usual)
        return Directions(factors[[item]] / lengths[item], factors / spread[:, np.newaxis])
    noise = side.doubt.noise_ratio
    # Estimates have the share 1 - r of what the truth varies by.
    true = float(np.square(lengths).sum() / max(float((1.0 - noise).sum()), 1e-9))
    spread = np.sqrt(np.square(lengths) + noise * true)
    held_back = _believed(1.0 - noise)
    others = factors / np.where(spread > 0.0, spread, 1.0)[:, np.newaxis]
    return Directions(others[[item]], np.sqrt(held_back)[:, np.newaxis] * others, float(held_back[item]))


def _believed(known: Floats) -> Floats:
    """From 1 where all of an item is known to 0 where at most three quarters of it are."""
    ratio = 3.0 * (1.0 - known) / np.maximum(known, np.finfo(np.float64).tiny)
    believed: Floats = np.sqrt(np.maximum(1.0 - np.minimum(ratio, 1.0) ** 2, 0.0))
    return believed
