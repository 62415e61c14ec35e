"""One run of budgeted ALS: holds the ratings, spends the budget, and is thrown away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.central.activity import release_activity
from discreet.central.settings import BudgetedSettings
from discreet.central.user_side import user_statistics
from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid
from discreet.item_side import ItemSide
from discreet.item_side.plan import Activity, Plan, choose_rank, choose_rounds, difficulty
from discreet.item_side.popularity import Popularity
from discreet.item_side.update import Frame, first_offsets, first_popularity, refine
from discreet.privacy.blocks import Pattern
from discreet.privacy.contribution import RoundContribution, RoundStatistics, Units
from discreet.privacy.gate import Gate

__all__ = ["BudgetedRun"]

Floats = npt.NDArray[np.float64]

# Users' ridge in units of the mean squared residual, round by round: 20, 8, then 3 (see docs/architecture.md).
_CAUTION = (20.0, 8.0, 3.0)
# Above this an average item's offset is noise of ten times a rating's own scatter.
_HOPELESS = 10.0
# Relative noise to aim at in the users' moment, and the most energy to spend on it.
_READABLE = 0.07
_MOST_MOMENT = 0.5
# Clicks have no residual to weigh against: their release is the item weights and hardly anything else.
_CLICK_WEIGHT_SHARE = 0.99
# Users' ridge for clicks, in units of the gravity.
_CLICK_PENALTY = 0.2


class BudgetedRun:
    """User side, gate, item side, round by round.

    Parameters
    ----------
    settings
        Public.
    ratings
        Private, over a public catalogue.
    gate
        May have been charged for the catalogue already; the run spends what is left.
    rng
        Draws the random start of the factors.
    progress
        Called with (stage, done, total).
    """

    plan: Plan

    def __init__(
        self,
        settings: BudgetedSettings,
        ratings: Ratings,
        gate: Gate,
        rng: np.random.Generator,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.settings = settings
        self._ratings = ratings
        self._pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)
        self._gate = gate
        self._rng = rng
        self._progress = progress

    def train(self, watch: Callable[[ItemSide], None] | None = None) -> ItemSide:
        """Spend the budget; ``watch`` sees the item side after every release (for experiments)."""
        mu = self._gate.ledger.remaining_mu
        share = self.settings.activity_share
        activity = release_activity(self._gate, self._ratings, mu * float(np.sqrt(share)))
        mu *= float(np.sqrt(1.0 - share))
        self.plan = self._make_plan(activity, mu)
        costs = [mu * float(np.sqrt(part)) for part in self.plan.shares]
        self._report(0)
        side, popularity, frame = self._first(activity, costs[0])
        if watch is not None:
            watch(side)
        if self.plan.rounds:
            side, frame = self._start(side, frame)
        for number, cost in enumerate(costs[1:], start=1):
            self._report(number)
            weights = self._item_weights(popularity)
            statistics = self._release(
                f"round {number}",
                activity,
                side,
                frame,
                weights,
                cost,
                self.settings.weight_share,
            )
            caution = _CAUTION[min(number, len(_CAUTION)) - 1]
            side, frame, popularity = refine(
                side, frame, statistics, popularity, ratings=activity.ratings, caution=caution
            )
            if watch is not None:
                watch(side)
        self._report(self.plan.rounds + 1)
        if frame.start:
            # Every round was drowned: what is left of the factors is their random start, which says nothing.
            side = replace(side, factors=np.zeros((side.n_items, 0)))
        return side

    def _make_plan(self, activity: Activity, mu: float) -> Plan:
        settings, explicit, n_items = self.settings, self._ratings.explicit, self._ratings.n_items
        self._gate.ledger.budget.check_users(max(1, int(activity.users)))
        if difficulty(activity, n_items, mu) > _HOPELESS:
            raise BudgetInvalid(
                f"the budget ({self._gate.ledger.budget}) is too small to train on about {activity.users:,.0f} users "
                f"and {n_items:,} items: every estimate would be noise. Raise epsilon, bring more users, or offer "
                "fewer items; the first release of this run has been spent"
            )
        rank, rounds, first = settings.rank, settings.rounds, settings.offset_share
        if rank == "auto":
            rank = choose_rank(activity, n_items, mu, explicit=explicit)
        if rounds == "auto":
            rounds = choose_rounds(explicit=explicit)
        if first == "auto":
            first = 0.2 if explicit else 0.1
        return Plan.make(rank, rounds, first, settings.growth)

    def _first(self, activity: Activity, mu: float) -> tuple[ItemSide, Popularity, Frame]:
        ratings, settings = self._ratings, self.settings
        n_items = ratings.n_items
        frame = Frame(np.eye(1), float(np.sqrt(activity.within)), activity.ratings_per_user)
        empty = np.zeros(n_items), np.zeros((n_items, 0))
        if ratings.rating_range is None:
            usual = min(1.0, 20.0 * activity.ratings_per_user / n_items)
            gravity = usual if settings.gravity == "auto" else settings.gravity
            penalty = settings.factor_penalty
            if penalty == "auto":
                penalty = _CLICK_PENALTY * gravity
            side = ItemSide("implicit", 0.0, *empty, None, factor_penalty=penalty, gravity=gravity)
            statistics = self._release(
                "popularity", activity, side, frame, np.ones(n_items), mu, _CLICK_WEIGHT_SHARE
            )
            side, popularity = first_popularity(side, statistics)
            return side, popularity, frame
        low, high = ratings.rating_range
        penalty = activity.within / activity.between
        side = ItemSide("explicit", 0.5 * (low + high), *empty, ratings.rating_range, offset_penalty=penalty)
        statistics = self._release(
            "offsets", activity, side, frame, np.ones(n_items), mu, settings.first_weight_share
        )
        side, popularity, residual = first_offsets(side, frame, statistics, activity.ratings)
        return side, popularity, replace(frame, residual=residual)

    def _start(self, side: ItemSide, frame: Frame) -> tuple[ItemSide, Frame]:
        """Random factors. The strong ridge makes a user's first vector the projection of their residuals on them."""
        factors = self._rng.standard_normal((side.n_items, self.plan.rank))
        penalty = side.factor_penalty
        if side.feedback == "explicit":
            penalty = 100.0 * frame.residual**2
        else:
            factors *= np.sqrt(side.offsets * side.offsets.mean())[:, None]
        side = replace(side, factors=factors, factor_penalty=penalty)
        return side, replace(frame, whiten=np.eye(1 + self.plan.rank), start=True)

    def _item_weights(self, popularity: Popularity) -> Floats:
        exponent = self.settings.item_exponent
        if exponent == "auto":
            exponent = 0.25 if self._ratings.explicit else 0.0
        positive = popularity.positive()
        weights: Floats = (positive / positive.mean()) ** -exponent
        return weights

    def _release(
        self,
        name: str,
        activity: Activity,
        side: ItemSide,
        frame: Frame,
        item_weights: Floats,
        mu: float,
        weight_share: float,
    ) -> RoundStatistics:
        users = user_statistics(self._ratings, self._pattern, side, frame)
        explicit = self._ratings.explicit
        counts = self._pattern.counts if explicit else np.ones(self._pattern.n_users)
        units = self._units(activity, frame, mu, weight_share, explicit=explicit)
        contribution = RoundContribution.build(
            self._pattern,
            users.features,
            users.residuals,
            users.spread / frame.residual,
            counts,
            item_weights,
            units,
        )
        return contribution.read(self._gate.release(name, contribution.blocks, mu=mu), mu)

    def _units(
        self, activity: Activity, frame: Frame, mu: float, weight_share: float, *, explicit: bool
    ) -> Units:
        """Scales at which a typical user spends the set shares of energy beside the gradient. Public.

        The moment gets more than its share where the budget is small: its relative noise is about
        order / (sqrt(share) n mu), and a step in coordinates that noise has chosen is worse than none.
        """
        order, per_user = len(frame.whiten), activity.ratings_per_user
        gradient = order * per_user * frame.residual**2
        moment = (per_user if explicit else 1.0) * (order + 1.0)
        needed = ((order + 1.0) / (_READABLE * activity.users * mu)) ** 2
        share = min(max(self.settings.moment_share, needed), _MOST_MOMENT)
        full = self.settings.curvature == "full" and order > 1
        return Units(
            weight=float(np.sqrt(per_user * (1.0 - weight_share) / (gradient * weight_share))),
            moment=moment / float(np.sqrt(gradient * share)),
            curvature=order * float(np.sqrt(per_user / gradient)) if full else None,
        )

    def _report(self, done: int) -> None:
        if self._progress is not None:
            self._progress("training", done, self.plan.rounds + 1)
