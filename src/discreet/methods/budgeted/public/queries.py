"""The queries of budgeted ALS. Public."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.query import Query, Trained
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.activity import ActivitySums, NoisyActivity
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, RoundStatistics, Units
from discreet.types import Floats

__all__ = ["ActivityQuery", "RoundQuery", "without_start"]


@dataclass(frozen=True, eq=False)
class ActivityQuery(Query[NoisyActivity]):
    """How many users are there, and how much do they rate?"""

    n_items: int

    @property
    def mechanism(self) -> ActivitySums:
        """A number, a histogram and two variances."""
        return ActivitySums(self.n_items)


@dataclass(frozen=True, eq=False)
class RoundQuery(Query[RoundStatistics]):
    """What does every user's residual say, at this item side and in these coordinates?

    Parameters
    ----------
    number
        0 for the offsets, then 1 for the first round.
    side, frame
        Where the last round left off.
    item_weights, units
        Public scales of the contributions.
    """

    number: int
    side: ItemSide
    frame: Frame
    item_weights: Floats
    units: Units

    @property
    def mechanism(self) -> EnergyScaledSums:
        """Gradients, weights and a moment, each user scaled to norm 1."""
        return EnergyScaledSums(self.item_weights, self.units, len(self.frame.whiten))

    def so_far(self) -> Trained | None:
        """What the rounds before this one have taught."""
        if self.number == 0:
            return None
        return Trained(without_start(self.side, self.frame), self.number - 1)


def without_start(side: ItemSide, frame: Frame) -> ItemSide:
    """The item side without factors that are still their random start, which says nothing."""
    return replace(side, factors=np.zeros((side.n_items, 0))) if frame.start else side
