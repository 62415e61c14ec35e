"""The queries of budgeted ALS, and how a user's energy is divided in them. Public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.step import State
from discreet.methods.budgeted.public.whitening import Frame
from discreet.methods.public.half import Facts
from discreet.methods.public.query import Query, Trained
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, RoundStatistics, Units
from discreet.privacy.gaussian.tallies import ActivitySums, NoisyActivity
from discreet.types import Floats

__all__ = ["ActivityQuery", "Asker", "RoundQuery", "without_start"]


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


@dataclass(frozen=True)
class Asker:
    """Words and scales of the queries after the first."""

    settings: BudgetedSettings
    facts: Facts
    activity: Activity
    planned: int | None
    least_energy: float = 0.0

    def first(self, mu: float, side: ItemSide, frame: Frame) -> RoundQuery:
        """Offsets, before anything is known of the items."""
        units = self._units(frame, mu, fitted.FIRST_WEIGHT_SHARE)
        weights = np.ones(self.facts.n_items)
        return RoundQuery("offsets", mu, 0, side, frame, weights, units, planned=self.planned)

    def round(self, number: int, mu: float, state: State) -> RoundQuery:
        """Gradients at the current fit."""
        name = f"round {number}" if state.side.rank else f"offsets, round {number}"
        units, weights = (
            self._units(state.frame, mu, fitted.WEIGHT_SHARE),
            self._item_weights(state.popularity),
        )
        return RoundQuery(name, mu, number, state.side, state.frame, weights, units, planned=self.planned)

    def trial(self, mu: float, state: State) -> RoundQuery:
        """The same at an earlier model's item side; not a round, as nothing has been learnt from it yet.

        It asks how far users' vectors spread. So the moment has as much energy as the gradient, and users who have
        less than usual count alike: counted by one over their energy, long vectors would hardly show.
        """
        gradient, moment = self._energies(state.frame)
        asked = self.round(0, mu, state)
        units = replace(asked.units, moment=moment / math.sqrt(gradient), least_energy=2.0 * gradient)
        return replace(asked, name="trial of the earlier model", units=units)

    def _item_weights(self, popularity: ItemWeights) -> Floats:
        positive = popularity.positive()
        weights: Floats = (positive / positive.mean()) ** -self.settings.item_exponent
        return weights

    def _units(self, frame: Frame, mu: float, weight_share: float) -> Units:
        """Scales at which a typical user spends the set shares of energy beside the gradient.

        The moment gets more than its share where the budget is small: its relative noise is about
        order / (sqrt(share) n mu), and a step in coordinates that noise has chosen is worse than none.
        """
        gradient, moment = self._energies(frame)
        noise = (len(frame.whiten) + 1.0) * self.facts.noise_excess / (self.activity.users * mu)
        needed = (noise / fitted.MOMENT_NOISE) ** 2
        share = min(max(fitted.MOMENT_SHARE, needed), fitted.MOST_MOMENT_SHARE)
        weight = self.activity.ratings_per_user * (1.0 - weight_share) / (gradient * weight_share)
        unit = moment / math.sqrt(gradient * share)
        return Units(math.sqrt(weight), unit, least_energy=self.least_energy * gradient)

    def _energies(self, frame: Frame) -> tuple[float, float]:
        """Energy of a typical user's gradient, and size of their moment."""
        order, per_user = len(frame.whiten), self.activity.ratings_per_user
        return order * per_user * frame.residual**2, per_user * (order + 1.0)
