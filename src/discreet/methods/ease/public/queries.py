"""The two queries of private EASE. Public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import SettingsInvalid
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.pairs import Counts, NoisyCounts, NoisyPairs, Pairs

__all__ = ["CountsQuery", "PairsQuery"]


@dataclass(frozen=True, eq=False)
class CountsQuery(Query[NoisyCounts]):
    """How often is each item taken, and how many people are there?"""

    n_items: int

    @property
    def mechanism(self) -> Counts:
        """One number for each item, and one for all."""
        return Counts(self.n_items)


@dataclass(frozen=True, eq=False)
class PairsQuery(Query[NoisyPairs]):
    """How often are two items of the head taken together?

    Parameters
    ----------
    head
        Positions in the catalogue, ascending.
    """

    head: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        if self.head.ndim != 1 or len(self.head) < 1 or not (np.diff(self.head) > 0).all():
            raise SettingsInvalid("the head must be an ascending list of items")

    @property
    def mechanism(self) -> Pairs:
        """One number for each pair."""
        return Pairs(len(self.head))
