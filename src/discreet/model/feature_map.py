"""What the model expects of an item from its features alone: how items get vectors that nobody has rated yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from discreet.errors import ModelInvalid
from discreet.model.shapes import check_shapes
from discreet.types import Floats

__all__ = ["FeatureMap"]


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A linear map from features to offset and factors.

    Parameters
    ----------
    weights
        Columns of the catalogue's feature matrix x (1 + rank); the offset comes first.
    base
        1 + rank numbers: what an item without any feature gets.
    noise_ratio
        Of a guess, as in `discreet.model.item_side.ItemSide`.

    Notes
    -----
    **Privacy.** Computed from what was released, so applying it to any item costs nothing.

    Examples
    --------
    >>> taste = FeatureMap(np.array([[0.5, 1.0]]), np.array([0.1, 0.0]), 0.2)
    >>> taste.guess(csr_array(np.array([[2.0], [0.0]])))
    array([[1.1, 2. ],
           [0.1, 0. ]])
    """

    weights: Floats
    base: Floats
    noise_ratio: float

    def __post_init__(self) -> None:
        """Rows beside each other in memory, as in `discreet.model.item_side.ItemSide`."""
        for name in ("weights", "base"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), order="C"))

    def guess(self, features: csr_array) -> Floats:
        """Items x (1 + rank): offset and factors that rows of features lead one to expect."""
        guessed: Floats = self.base + features @ self.weights
        return guessed

    def check(self, rank: int) -> None:
        """Refuse arrays that do not fit the model, or numbers that are not finite (`ModelInvalid`)."""
        check_shapes(self, weights=(*self.weights.shape[:1], 1 + rank), base=(1 + rank,))
        if not 0.0 <= self.noise_ratio <= 1.0:
            raise ModelInvalid(f"the feature map's noise_ratio is {self.noise_ratio}, not between 0 and 1")
