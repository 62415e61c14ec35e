"""Which items people are likely to know, as far as a model says so."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.model import Model
from discreet.model.item_weights import ItemWeights

__all__ = ["well_known"]


def well_known(model: Model) -> npt.NDArray[np.int64]:
    """Positions of all items, the best known first, as far as the model says which those are."""
    side = model.item_side
    if isinstance(side, ItemWeights):
        known = side.counts
    elif side.popularity is not None:
        known = side.popularity
    elif side.doubt is not None:
        known = -side.doubt.noise
    else:
        known = side.offsets
    return np.argsort(-known, kind="stable")
